// Tokens of a real Keycloak, decoded. The fakes are made of them, and the Keycloak suite compares them with a running one.
import keycloak from "../fixtures/keycloak/tokens.json" with { type: "json" }

/** Header and claims of a token; without its signature nobody can use it. */
export interface RecordedToken {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}

export type RecordedKind = "access" | "id" | "refresh" | "service"

export const RECORDED: { readonly version: string; readonly tokens: Readonly<Record<RecordedKind, RecordedToken>> } =
  keycloak

/** Takes a token apart, leaving its signature behind. */
export const decoded = (token: string): RecordedToken => {
  const part = (index: number): RecordedToken["claims"] =>
    JSON.parse(Buffer.from(token.split(".")[index] ?? "", "base64url").toString("utf8"))
  return { header: part(0), claims: part(1) }
}

/** Claims that differ from one token, or one server, to the next. */
const CHANGING = ["exp", "iat", "auth_time", "jti", "iss", "sub", "sid", "kid", "at_hash"]

const withoutChanging = (claims: RecordedToken["claims"]): RecordedToken["claims"] =>
  Object.fromEntries(
    Object.entries(claims).map(([name, value]) => [name, CHANGING.includes(name) ? typeof value : sorted(value)]),
  )

/** Keycloak keeps roles and audiences in no particular order, and repeats its own address in some. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return [...value].sort()
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, sorted(inner)]))
}

/** What two tokens of one kind have in common. */
export const shapeOf = ({ header, claims }: RecordedToken): RecordedToken => {
  const aud = claims["aud"] === claims["iss"] ? "iss" : claims["aud"]
  const shape = {
    ...claims,
    aud,
    ...(typeof claims["scope"] === "string" ? { scope: claims["scope"].split(" ") } : {}),
  }
  return { header: withoutChanging(header), claims: withoutChanging(shape) }
}
