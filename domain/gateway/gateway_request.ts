import type { CanonicalTarget } from "./canonical_path.ts"

/** A request as it arrived, before anything of it was judged. */
export interface GatewayRequest {
  readonly method: string
  /** Request target as on the wire: not decoded, not normalised. */
  readonly rawTarget: string
  /** Every header line: name in lower case, value. Repeated names stay repeated. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
}

/** A request whose target has been read and has one meaning. */
export interface ReadRequest extends GatewayRequest {
  readonly target: CanonicalTarget
}

/** The values of a header, in order. `name` is in lower case. */
export const headerValues = ({ headers }: GatewayRequest, name: string): ReadonlyArray<string> =>
  headers.filter(([each]) => each === name).map(([, value]) => value)

/** The first value of a header; `undefined` when there is none. `name` is in lower case. */
export const headerValue = ({ headers }: GatewayRequest, name: string): string | undefined =>
  headers.find(([each]) => each === name)?.[1]

/**
 * A text without the blanks around it that a browser drops (RFC 6265bis section 5.7): spaces and tabs. `trim()` would drop
 * more, and read a cookie of another name as ours.
 */
const trimBlanks = (text: string): string => text.replace(/^[ \t]+|[ \t]+$/g, "")

/** Name and value of one `name=value` of a `Cookie` header. */
const readPair = (pair: string): readonly [name: string, value: string] => {
  const cut = pair.indexOf("=")
  return [trimBlanks(pair.slice(0, Math.max(cut, 0))), trimBlanks(pair.slice(cut + 1))]
}

/** The value of a cookie; `undefined` also when two cookies have the name, since another site may have set one of them. */
export const cookieValue = (request: GatewayRequest, name: string): string | undefined => {
  const values = headerValues(request, "cookie")
    .flatMap((line) => line.split(";"))
    .map(readPair)
    .filter(([each]) => each === name)
    .map(([, value]) => value)
  return values.length === 1 ? values[0] : undefined
}

/** A `Cookie` header without the named cookies; `undefined` when none is left. */
export const withoutCookies = (line: string, names: ReadonlyArray<string>): string | undefined => {
  const kept = line.split(";").filter((pair) => !names.includes(readPair(pair)[0]))
  return kept.length === 0 ? undefined : trimBlanks(kept.join(";"))
}
