import { isSecretParameter, MASK } from "../secret_mask.ts"

/** What an address of a media file may be. */
export interface MediaUrlPolicy {
  /** Accept `http://` besides `https://`. */
  readonly allowHttp: boolean
}

/**
 * Scheme and authority as the caller wrote them. `URL` reads `https:/a.example` and `https:\\a.example` as
 * `https://a.example`; whether the platform does so is not documented, so such spellings are refused.
 */
const WRITTEN = /^([a-z][a-z0-9+.-]*):(?:\/\/([^/?#]*))?/i

const HOST = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\.?)(:\d{1,5})?$/
const PRINTABLE = /^[\x21-\x7e]*$/
const UNSAFE = /["<>\\^`{}\s]/

/** The address in ASCII, to be shown: without user info and query, which may hold secrets. */
const asciiForm = (url: string): string => {
  if (!URL.canParse(url)) return ""
  const { origin, pathname } = new URL(url)
  return `: ${origin}${pathname}`
}

/**
 * The rule an address breaks, or `undefined`. The message never shows user info, query or fragment.
 *
 * @param url any text
 * @see Meta's reference of `image_url`: the address must be public and US-ASCII "or the request will fail"
 */
export const brokenUrlRule = (
  url: string,
  policy: MediaUrlPolicy,
): { readonly rule: string; readonly message: string } | undefined => {
  const broken = (rule: string, message: string) => ({ rule, message })
  const [, scheme, authority = ""] = WRITTEN.exec(url) ?? []
  if (scheme === undefined) return broken("url-absolute", "must be an absolute URL")
  if (!(policy.allowHttp ? /^https?$/i : /^https$/i).test(scheme))
    return broken("url-scheme", policy.allowHttp ? "must start with http:// or https://" : "must start with https://")
  if (authority.includes("@")) return broken("url-credentials", "must not contain a user name or password")
  if (url.includes("#")) return broken("url-fragment", "must not contain a fragment (#)")
  if (!PRINTABLE.test(url) || UNSAFE.test(url))
    return broken("url-ascii", `must be plain ASCII, percent-encoded${asciiForm(url)}`)
  if (!HOST.test(authority) || !URL.canParse(url)) return broken("url-host", "must name a host")
  return undefined
}

const PRIVATE_HOST =
  /^(localhost|.*\.(local|internal|localhost)|127\.\d+\.\d+\.\d+|10\.\d+\.\d+\.\d+|192\.168\.\d+\.\d+|172\.(1[6-9]|2\d|3[01])\.\d+\.\d+|169\.254\.\d+\.\d+|\[::1\]|\[f[cde][0-9a-f:]*\])$/

/**
 * True when the address names a host of a private network, which the platform cannot reach.
 *
 * @param url an address that breaks no rule of {@link brokenUrlRule}
 */
export const isPrivateHost = (url: string): boolean => PRIVATE_HOST.test(new URL(url).hostname)

/** A query parameter as it is written, still percent-encoded. `URLSearchParams` would rewrite what is only to be shown. */
const PARAMETER = /([?&])([^=&#]*)=([^&#]*)/g

/** The secret values in an address (signatures, credentials, tokens), percent-encoded as they are in it. */
export const secretsInUrl = (url: string): ReadonlyArray<string> =>
  [...url.matchAll(PARAMETER)].flatMap(([, , name = "", value = ""]) => (isSecretParameter(name, value) ? [value] : []))

/** The address with its secret values masked, and every other byte as it was. */
export const maskUrl = (url: string): string =>
  url.replace(PARAMETER, (whole, mark: string, name: string, value: string) =>
    isSecretParameter(name, value) ? `${mark}${name}=${MASK}` : whole,
  )

/** Parameters that the well-known signers add. Another name may tell two files apart, so it is never left out. */
const SIGNER =
  /^(x-amz-.*|x-goog-.*|signature|expires|key-pair-id|policy|awsaccesskeyid|googleaccessid|sig|se|st|sp|sv)$/i

/**
 * The part of an address that stays the same when the same file is signed anew.
 *
 * @param url an address that breaks no rule of {@link brokenUrlRule}
 */
export const fileIdentity = (url: string): string => {
  const file = new URL(url)
  file.search = new URLSearchParams([...file.searchParams].filter(([name]) => !SIGNER.test(name))).toString()
  return file.href
}

const millis = (date: string | undefined): number | undefined => {
  const at = date === undefined ? Number.NaN : Date.parse(date)
  return Number.isNaN(at) ? undefined : at
}

/**
 * Milliseconds a presigned address stays valid, when it says so; `undefined` otherwise.
 *
 * Read from the parameters of Amazon's and Google's signatures (`Expires`, or `...-Date` and `...-Expires`) and of
 * Azure's (`se`).
 *
 * @param url an address that breaks no rule of {@link brokenUrlRule}
 * @param nowMs the present, milliseconds since the epoch
 */
export const urlValidForMs = (url: string, nowMs: number): number | undefined => {
  const query = new Map([...new URL(url).searchParams].map(([name, value]) => [name.toLowerCase(), value]))
  const lifetime = query.get("x-amz-expires") ?? query.get("x-goog-expires")
  const signed = (query.get("x-amz-date") ?? query.get("x-goog-date"))?.replace(
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/,
    "$1-$2-$3T$4:$5:$6Z",
  )
  if (lifetime !== undefined && /^\d{1,9}$/.test(lifetime))
    return Number(lifetime) * 1000 - (nowMs - (millis(signed) ?? nowMs))
  const expires = query.get("expires")
  if (expires !== undefined && /^\d{9,11}$/.test(expires)) return Number(expires) * 1000 - nowMs
  const until = millis(query.get("se"))
  return until === undefined ? undefined : until - nowMs
}
