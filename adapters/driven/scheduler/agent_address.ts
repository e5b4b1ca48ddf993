/** An agent's address as its parts. */
export interface AgentAddress {
  /** Scheme, host and path prefix, without a trailing slash or `/v1`. */
  readonly url: string
  readonly unixSocket?: string
  /** `Authorization` header for a proxy before the agent, when the URL named a user. */
  readonly authorization?: string
}

/**
 * Reads a base URL: `http(s)://host[:port][/prefix][/v1]` or `unix:///path/of/the.sock` (specification 2.2).
 *
 * @returns the broken rule instead, when it is none; it does not repeat the text, which may hold a password
 */
export const readAddress = (baseUrl: string): AgentAddress | { readonly rule: string } => {
  const url = URL.parse(baseUrl)
  if (url === null) return { rule: "must be an absolute URL" }
  const { protocol, origin, pathname, username, password } = url
  if (url.search !== "" || url.hash !== "") return { rule: "must have no query and no fragment" }
  if (protocol === "unix:")
    return pathname.length > 1
      ? { url: "http://localhost", unixSocket: decodeURIComponent(pathname) }
      : { rule: "must name the socket's path" }
  if (protocol !== "http:" && protocol !== "https:") return { rule: "must begin with http, https or unix" }
  const agent = origin + pathname.replace(/\/+$/, "").replace(/\/v1$/, "").replace(/\/+$/, "")
  if (username === "" && password === "") return { url: agent }
  const user = new TextEncoder().encode(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)
  return { url: agent, authorization: `Basic ${btoa(String.fromCharCode(...user))}` }
}
