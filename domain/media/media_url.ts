import { isSecretParameter, MASK } from "../secret_mask.ts"

/** What an address of a media file may be. */
export interface MediaUrlPolicy {
  /** Accept `http://` besides `https://`. */
  readonly allowHttp: boolean
}

interface UrlParts {
  readonly scheme: string
  readonly authority: string
  readonly path: string
  /** With `?`; empty when there is none. */
  readonly query: string
  readonly fragment: string
}

/** RFC 3986, appendix B. The pure rooms have no platform, hence no `URL`. */
const PARTS = /^([A-Za-z][A-Za-z0-9+.-]*):(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/s

const partsOf = (url: string): UrlParts | undefined => {
  const [, scheme, authority, path, query, fragment] = PARTS.exec(url) ?? []
  if (scheme === undefined) return undefined
  return {
    scheme: scheme.toLowerCase(),
    authority: authority ?? "",
    path: path ?? "",
    query: query ?? "",
    fragment: fragment ?? "",
  }
}

const HOST = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\.?)(:\d{1,5})?$/
const PRINTABLE = /^[\x21-\x7e]*$/
const UNSAFE = /["<>\\^`{}\s]/

/** The address as the fetching side needs it, without its query (it may be signed). */
const asciiForm = ({ scheme, authority, path }: UrlParts): string =>
  `${scheme}://${PRINTABLE.test(authority) ? authority : "(the host in punycode)"}${encodeURI(path)}`

/**
 * The rule an address breaks, or `undefined`. Never shows user info, query or fragment.
 *
 * @see Meta's reference: the address must be public and US-ASCII "or the request will fail"
 */
export const brokenUrlRule = (
  url: string,
  policy: MediaUrlPolicy,
): { readonly rule: string; readonly message: string } | undefined => {
  const broken = (rule: string, message: string) => ({ rule, message })
  const parts = partsOf(url)
  if (parts === undefined) return broken("url-absolute", "must be an absolute URL")
  if (parts.scheme !== "https" && !(policy.allowHttp && parts.scheme === "http"))
    return broken("url-scheme", policy.allowHttp ? "must start with http:// or https://" : "must start with https://")
  if (parts.authority.includes("@")) return broken("url-credentials", "must not contain a user name or password")
  if (parts.fragment !== "") return broken("url-fragment", "must not contain a fragment (#)")
  if (!PRINTABLE.test(url) || UNSAFE.test(url))
    return broken("url-ascii", `must be plain ASCII, percent-encoded: ${asciiForm(parts)}`)
  if (!HOST.test(parts.authority)) return broken("url-host", "must name a host")
  return undefined
}

const PRIVATE_HOST =
  /^(localhost|.*\.(local|internal|localhost)|127\.\d+\.\d+\.\d+|10\.\d+\.\d+\.\d+|192\.168\.\d+\.\d+|172\.(1[6-9]|2\d|3[01])\.\d+\.\d+|169\.254\.\d+\.\d+|\[::1\]|\[f[cde][0-9a-f:]*\])(:\d+)?$/i

/** True when the address names a host the graph can hardly reach. */
export const isPrivateHost = (url: string): boolean => PRIVATE_HOST.test(partsOf(url)?.authority ?? "")

type QueryPair = readonly [name: string, value: string]

const queryPairs = (url: string): ReadonlyArray<QueryPair> =>
  (partsOf(url)?.query ?? "")
    .slice(1)
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const at = pair.indexOf("=")
      return at < 0 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)]
    })

/** The secret values in an address: signatures, credentials, tokens, as they stand in it. */
export const secretsInUrl = (url: string): ReadonlyArray<string> =>
  queryPairs(url).flatMap(([name, value]) => (isSecretParameter(name, value) ? [value] : []))

const withQuery = (url: string, pairs: ReadonlyArray<QueryPair>): string => {
  const plain = url.replace(/[?#].*$/s, "")
  return pairs.length === 0 ? plain : `${plain}?${pairs.map(([name, value]) => `${name}=${value}`).join("&")}`
}

/** The address with its secret values masked. */
export const maskUrl = (url: string): string =>
  withQuery(
    url,
    queryPairs(url).map(([name, value]) => [name, isSecretParameter(name, value) ? MASK : value]),
  )

/** Only the marks of the well-known signers: leaving out more could make two files look like one. */
const SIGNER =
  /^(x-amz-.*|x-goog-.*|signature|expires|key-pair-id|policy|awsaccesskeyid|googleaccessid|sig|se|st|sp|sv)$/i

/** What stays the same when the same file is signed anew. */
export const fileIdentity = (url: string): string =>
  withQuery(
    url,
    queryPairs(url).filter(([name]) => !SIGNER.test(name)),
  )

const millis = (date: string): number | undefined => {
  const at = Date.parse(date)
  return Number.isNaN(at) ? undefined : at
}

/**
 * Milliseconds a presigned address stays valid, when it says so; `undefined` otherwise.
 *
 * @param nowMs the present, milliseconds since the epoch
 */
export const urlValidForMs = (url: string, nowMs: number): number | undefined => {
  const query = new Map(queryPairs(url).map(([name, value]) => [name.toLowerCase(), value]))
  const lifetime = query.get("x-amz-expires") ?? query.get("x-goog-expires")
  const signed = (query.get("x-amz-date") ?? query.get("x-goog-date"))?.replace(
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/,
    "$1-$2-$3T$4:$5:$6Z",
  )
  if (lifetime !== undefined && /^\d{1,9}$/.test(lifetime))
    return Number(lifetime) * 1000 - (signed === undefined ? 0 : nowMs - (millis(signed) ?? nowMs))
  const expires = query.get("expires")
  if (expires !== undefined && /^\d{9,11}$/.test(expires)) return Number(expires) * 1000 - nowMs
  const azure = query.get("se")
  const until = azure === undefined ? undefined : millis(azure.replaceAll(/%3A/gi, ":"))
  return until === undefined ? undefined : until - nowMs
}
