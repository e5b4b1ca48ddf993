/** Names of the two cookies of the browser login. The value of each is one random word. */
export interface CookieNames {
  readonly session: string
  /** Ties a login under way to the browser that began it. */
  readonly login: string
}

const isSecure = (publicUrl: string): boolean => publicUrl.startsWith("https:")

/**
 * Names of the cookies. With https they begin with `__Host-`, so that no other host can set them (RFC 6265bis section 4.1.3.2).
 *
 * @param publicUrl origin a browser reaches the gateway at
 */
export const cookieNames = (publicUrl: string): CookieNames => {
  const prefix = isSecure(publicUrl) ? "__Host-" : ""
  return { session: `${prefix}portolan_session`, login: `${prefix}portolan_login` }
}

/**
 * Writes a `Set-Cookie` value: for the whole host, hidden from scripts, not sent along by other sites' forms and images.
 *
 * @param publicUrl origin a browser reaches the gateway at; with https the cookie is `Secure`
 * @param maxAgeS seconds the browser keeps it; 0 removes it
 */
export const setCookie = (publicUrl: string, name: string, value: string, maxAgeS: number): string =>
  `${name}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${isSecure(publicUrl) ? "; Secure" : ""}`

/**
 * The name by which a browser sends back what a `Set-Cookie` value sets, in lower case.
 *
 * A browser drops blanks around the name and around the value, and sends a cookie without a name as its bare value (RFC 6265bis
 * sections 5.6 and 5.8.3): `name =x` and `=name=x` both come back as `name=x`. Control characters are passed over too, since
 * browsers differ about them.
 */
export const nameSet = (setCookieValue: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is passed over
  (/^[\x00-\x20\x7f=]*([^;=]*?)[\x00-\x20\x7f]*(?:[;=]|$)/.exec(setCookieValue)?.[1] ?? "").toLowerCase()
