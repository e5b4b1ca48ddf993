// Tokens of a made-up realm, and every way to get one wrong. Works under Bun, Deno and Node.
import { constants, createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto"

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

/** Signs any header over any payload. */
export const signToken = (
  header: Part,
  payload: Part,
  key: KeyObject = KEYS.realm().privateKey,
  algorithm: Algorithm = "RS256",
): string => {
  const input = `${base64url(header)}.${base64url(payload)}`
  return `${input}.${signed(input, key, algorithm).toString("base64url")}`
}

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

/** A realm at an instant: makes the tokens it would hand out then. */
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
  readonly refresh: (more?: Claims) => string
  readonly logout: (more?: Claims) => string
}

export const ISSUER = "http://localhost:8180/realms/demo"
export const CLIENT = "portolan-web"

/** @param now seconds since the epoch */
export const tokenKit = (now: number): TokenKit => {
  const header = { alg: "RS256", typ: "JWT", kid: "realm-key-1" }
  const common = { exp: now + 300, iat: now, iss: ISSUER, sub: "4b8e2c1e-8c0c-4b0c-9d1f-0a1b2c3d4e5f", azp: CLIENT }
  const claims = {
    ...common,
    jti: "onrtro:1",
    aud: "account",
    typ: "Bearer",
    realm_access: { roles: ["user", "admin"] },
  }
  return {
    now,
    issuer: ISSUER,
    header,
    claims,
    access: (more = {}, moreHeader = {}) => signToken({ ...header, ...moreHeader }, { ...claims, ...more }),
    idToken: (more = {}) =>
      signToken(header, { ...common, aud: CLIENT, typ: "ID", at_hash: "bQhX0Xq7vYx1V0g5k3m0tA", ...more }),
    refresh: (more = {}) => signToken(header, { ...common, aud: ISSUER, typ: "Refresh", ...more }),
    logout: (more = {}) =>
      signToken(
        { ...header, typ: "logout+jwt" },
        {
          ...common,
          aud: CLIENT,
          typ: "Logout",
          events: { "http://schemas.openid.net/event/backchannel-logout": {} },
          ...more,
        },
      ),
  }
}
