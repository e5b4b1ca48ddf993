import { Effect } from "effect"
import { InvalidMedia, InvalidMediaSetup } from "./errors.ts"

/** Where the graph is. */
export interface GraphAddress {
  /** Scheme, host and port, without a trailing slash. */
  readonly origin: string
  /** Path in front of everything: it starts with `/` and does not end with one, or it is empty. */
  readonly prefix: string
  /** First path segment of every media call (specification 9), for example `v25.0`. */
  readonly apiVersion: string
}

const refused = (option: string, rule: string) => Effect.fail(new InvalidMediaSetup({ option, rule }))

/** Scheme, host, port and path, and nothing else: `URL` alone would drop or resolve what is not understood here. */
const WRITTEN = /^https?:\/\/([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?(\/[A-Za-z0-9._~-]+)*\/*$/
const DOT_SEGMENT = /\/\.\.?(\/|$)/
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/**
 * Checks where the graph is, once.
 *
 * @param wanted.graphUrl base address, a path prefix and trailing slashes allowed; https, except on the own machine
 * @param wanted.apiVersion `v<major>.<minor>`; there is no list of known ones, the platform retires each after two years
 * @param wanted.allowInsecure accept plain http for other hosts (the token travels in clear text)
 * @fails {InvalidMediaSetup} naming option and rule, never the value
 */
export const makeGraphAddress = Effect.fnUntraced(function* (wanted: {
  readonly graphUrl: string
  readonly apiVersion: string
  readonly allowInsecure?: boolean
}) {
  const text = wanted.graphUrl.trim()
  if (!WRITTEN.test(text) || !URL.canParse(text))
    return yield* refused("graphUrl", "must be an absolute URL without user info, query and fragment")
  const { protocol, hostname, origin, pathname } = new URL(text)
  if (protocol === "http:" && !LOOPBACK.test(hostname) && wanted.allowInsecure !== true)
    return yield* refused("graphUrl", "must start with https:// (the access token travels to it)")
  if (DOT_SEGMENT.test(text)) return yield* refused("graphUrl", "must not contain dot segments")
  if (!/^v\d{1,3}\.\d{1,2}$/.test(wanted.apiVersion)) return yield* refused("apiVersion", "must look like v25.0")
  const address: GraphAddress = { origin, prefix: pathname.replace(/\/+$/, ""), apiVersion: wanted.apiVersion }
  return address
})

/** True for an id that can be a path segment, 1 to 64 letters, digits, `-` or `_`: it cannot lead to another path. */
export const isSegment = (id: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(id)

/**
 * Checks the ids a call names.
 *
 * @fails {InvalidMedia} pointing at the id's field, never showing it
 */
export const checkIds = (ids: { readonly accountId?: string; readonly containerId?: string }) => {
  const issues = Object.entries(ids)
    .filter(([, id]) => !isSegment(id))
    .map(([name]) => ({ pointer: `/${name}`, rule: "id", message: "must be 1 to 64 letters, digits, - or _" }))
  return issues.length === 0 ? Effect.void : Effect.fail(new InvalidMedia({ issues }))
}

/**
 * Checks a credential before it is used, and gives it back.
 *
 * @param option the option it came from, named by the error
 * @fails {InvalidMediaSetup} when it is blank, or holds a lone surrogate, which cannot be sent
 */
export const checkSecret = (
  option: "accessToken" | "appId" | "appSecret",
  value: string,
): Effect.Effect<string, InvalidMediaSetup> =>
  value.trim() !== "" && value.isWellFormed() ? Effect.succeed(value) : refused(option, "must not be blank")
