// Tokens of a made-up realm, and every way to get one wrong. Works under Bun, Deno and Node.
import { constants, createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { RECORDED } from "./recorded_tokens.ts"

/** Raw text or bytes are taken as they are, so that a test can write what no JSON writer would. */
export type Part = string | Uint8Array | Readonly<Record<string, unknown>>

export type Claims = Readonly<Record<string, unknown>>

interface Pair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export const base64url = (part: Part): string =>
  Buffer.from(typeof part === "string" || part instanceof Uint8Array ? part : JSON.stringify(part)).toString(
    "base64url",
  )

const once = <A>(make: () => A): (() => A) => {
  let made: { readonly value: A } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const rsa = (modulusLength: number) => once((): Pair => generateKeyPairSync("rsa", { modulusLength }))

/** Key pairs of the whole test run; making one costs up to a second. */
export const KEYS = {
  realm: rsa(2048),
  other: rsa(2048),
  short: rsa(1024),
  elliptic: once((): Pair => generateKeyPairSync("ec", { namedCurve: "P-256" })),
  edwards: once((): Pair => generateKeyPairSync("ed25519")),
}

export const pemOf = (key: KeyObject): string => String(key.export({ type: "spki", format: "pem" }))

/** As an identity provider's console shows it. */
export const bareOf = (key: KeyObject): string => key.export({ type: "spki", format: "der" }).toString("base64")

/** Public half as a member of a JWKS. */
export const jwkOf = (key: KeyObject, more: Claims = {}): Claims => ({ ...key.export({ format: "jwk" }), ...more })

export type Algorithm = "RS256" | "RS384" | "RS512" | "PS256" | "ES256" | "EdDSA"

const signed = (input: string, key: KeyObject, algorithm: Algorithm): Buffer => {
  const data = Buffer.from(input)
  switch (algorithm) {
    case "RS256":
      return sign("sha256", data, key)
    case "RS384":
      return sign("sha384", data, key)
    case "RS512":
      return sign("sha512", data, key)
    case "PS256":
      return sign("sha256", data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 })
    case "ES256":
      return sign("sha256", data, { key, dsaEncoding: "ieee-p1363" })
    case "EdDSA":
      return sign(null, data, key)
  }
}

/** Signs the text of a header and a payload as it stands, however ill-formed. */
export const signText = (
  input: string,
  key: KeyObject = KEYS.realm().privateKey,
  algorithm: Algorithm = "RS256",
): string => `${input}.${signed(input, key, algorithm).toString("base64url")}`

/** Signs any header over any payload. */
export const signToken = (
  header: Part,
  payload: Part,
  key: KeyObject = KEYS.realm().privateKey,
  algorithm: Algorithm = "RS256",
): string => signText(`${base64url(header)}.${base64url(payload)}`, key, algorithm)

/** An HS256 token keyed with a text, as the key confusion attack makes it. */
export const hmacToken = (header: Part, payload: Part, secret: string | Uint8Array): string => {
  const input = `${base64url(header)}.${base64url(payload)}`
  return `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`
}

/** Replaces parts of a token without signing again. */
export const withParts = (
  token: string,
  change: (parts: [string, string, string]) => ReadonlyArray<string>,
): string => {
  const [header = "", payload = "", signature = ""] = token.split(".")
  return change([header, payload, signature]).join(".")
}

/** A realm at an instant: makes the tokens it would hand out then, of the claims a real Keycloak puts into them. */
export interface TokenKit {
  /** Seconds since the epoch. */
  readonly now: number
  readonly issuer: string
  readonly header: Claims
  /** Claims of an access token of the realm's test user, holding the roles `user` and `admin`. */
  readonly claims: Claims
  /** An access token; `undefined` in `more` removes a claim. */
  readonly access: (more?: Claims, header?: Claims) => string
  readonly idToken: (more?: Claims) => string
  /** Signed RS256, so that its kind is all that is wrong with it: a real realm signs it with a secret of its own. */
  readonly refresh: (more?: Claims) => string
  readonly logout: (more?: Claims) => string
}

/** 2026-11-21T10:00:00Z, in seconds: the instant of tests on virtual time. */
export const NOW = 1_795_255_200

export const ISSUER = "http://localhost:8180/realms/demo"
export const CLIENT = String(RECORDED.tokens.access.claims["azp"])

/** @param now seconds since the epoch */
export const tokenKit = (now: number): TokenKit => {
  const { access, id, refresh } = RECORDED.tokens
  const header = { ...access.header, kid: "realm-key-1" }
  const here = { exp: now + 300, iat: now, iss: ISSUER }
  const claims = { ...access.claims, ...here, realm_access: { roles: ["user", "admin"] } }
  const { at_hash: _, ...session } = id.claims
  const events = { "http://schemas.openid.net/event/backchannel-logout": {} }
  return {
    now,
    issuer: ISSUER,
    header,
    claims,
    access: (more = {}, moreHeader = {}) => signToken({ ...header, ...moreHeader }, { ...claims, ...more }),
    idToken: (more = {}) => signToken(header, { ...id.claims, ...here, ...more }),
    refresh: (more = {}) => signToken(header, { ...refresh.claims, ...here, aud: ISSUER, ...more }),
    logout: (more = {}) =>
      signToken({ ...header, typ: "logout+jwt" }, { ...session, ...here, typ: "Logout", events, ...more }),
  }
}
