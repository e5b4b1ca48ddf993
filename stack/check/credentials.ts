import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import type { JWK } from "jose"
import { isObject } from "../../domain/json_object.ts"

type Part = Readonly<Record<string, unknown>>

const encode = (part: Part): string => Buffer.from(JSON.stringify(part)).toString("base64url")

/** Header and claims of a token, unless it is no JWT. */
interface Parts {
  readonly token: string
  readonly header: Part
  readonly payload: Part
}

/**
 * Reads a token without judging it.
 *
 * @returns nothing for a token that is no JWT, such as an opaque one
 */
export const readParts = (token: string): Parts | undefined => {
  try {
    const [header, payload] = token
      .split(".")
      .slice(0, 2)
      .map((part): unknown => JSON.parse(Buffer.from(part, "base64url").toString("utf8")))
    return isObject(header) && isObject(payload) ? { token, header, payload } : undefined
  } catch {
    return undefined
  }
}

const signedText = (header: Part, payload: string, key: KeyObject): string => {
  const input = `${encode(header)}.${Buffer.from(payload).toString("base64url")}`
  return `${input}.${sign("sha256", Buffer.from(input), key).toString("base64url")}`
}

const signed = (header: Part, payload: Part, key: KeyObject): string => signedText(header, JSON.stringify(payload), key)

/** What broken tokens are made from. Any good token may be missing: the rows that need it are not asked then. */
export interface Material {
  readonly issuer: string
  readonly access?: string
  readonly id?: string
  /** Token of a client that holds no user's roles. */
  readonly service?: string
  /** Access token of another realm of the same provider. */
  readonly otherRealm?: string
  readonly refresh?: string
  /** The realm's private signing key, when the realm is our own. */
  readonly signingKey?: KeyObject
  /** The realm's public keys, as published. */
  readonly publicKeys: ReadonlyArray<JWK>
  /** Address of a server that publishes the attacker's keys and counts who asks. */
  readonly hostileUrl: string
  readonly hostileKey: KeyObject
}

const hmac = (header: Part, payload: Part, secret: string): string => {
  const input = `${encode(header)}.${encode(payload)}`
  const hash = header["alg"] === "HS512" ? "sha512" : "sha256"
  return `${input}.${createHmac(hash, secret).update(input).digest("base64url")}`
}

const pemOf = (jwk: JWK): string =>
  String(createPublicKey({ key: { ...jwk }, format: "jwk" }).export({ type: "spki", format: "pem" }))

const without = (payload: Part, ...names: ReadonlyArray<string>): Part =>
  Object.fromEntries(Object.entries(payload).filter(([name]) => !names.includes(name)))

/** What anybody can send who has no token at all. */
const NOTHING = { none: undefined, garbage: "garbage", "three parts of nothing": "a.b.c" }

/** Tokens that anybody can make out of a good one without the realm's key. */
const outsiders = ({ token, header, payload }: Parts, material: Material) => {
  const { issuer, hostileKey, hostileUrl, publicKeys } = material
  const [head = "", body = "", signature = ""] = token.split(".")
  const hostileJwk = createPublicKey(hostileKey).export({ format: "jwk" })
  const evil = { ...header, kid: "evil" }
  const [published] = publicKeys
  return {
    "tampered payload": `${head}.${encode({ ...payload, sub: "root" })}.${signature}`,
    "signature removed": `${head}.${body}.`,
    "wrong key, same kid": signed(header, payload, hostileKey),
    "alg none": `${encode({ ...header, alg: "none" })}.${encode(payload)}.`,
    "alg None with a capital": `${encode({ ...header, alg: "None" })}.${encode(payload)}.`,
    "HS256 with the public key":
      published === undefined
        ? undefined
        : hmac({ alg: "HS256", typ: "JWT", kid: header["kid"] }, payload, pemOf(published)),
    "own key in jwk header": signed({ ...header, jwk: hostileJwk }, payload, hostileKey),
    "own keys in jku header": signed({ ...evil, jku: `${hostileUrl}/keys` }, payload, hostileKey),
    "own chain in x5u header": signed({ ...evil, x5u: `${hostileUrl}/chain` }, payload, hostileKey),
    "issuer of an attacker around ours": signed(evil, { ...payload, iss: `${hostileUrl}/?y=${issuer}` }, hostileKey),
    "kid that climbs": signed({ ...header, kid: "../../x" }, payload, hostileKey),
    "kid of 10 kB": signed({ ...header, kid: "k".repeat(10_000) }, payload, hostileKey),
    "refresh token shape": hmac(
      { alg: "HS512", typ: "JWT", kid: "hmac" },
      { ...payload, typ: "Refresh", aud: issuer },
      "not-known-to-anyone",
    ),
  }
}

/** Well-signed tokens that must not open anything all the same. Only the owner of the realm's key can make them. */
const insiders = ({ header, payload }: Parts, { issuer, hostileUrl }: Material, key: KeyObject) => {
  const now = Math.floor(Date.now() / 1000)
  const make = (more: Part, drop: ReadonlyArray<string> = []) =>
    signed(header, { ...without(payload, ...drop), ...more }, key)
  return {
    "expired an hour ago": make({ exp: now - 3600, iat: now - 7200 }),
    "expired 30 s ago": make({ exp: now - 30, iat: now - 330 }),
    "expired a second ago": make({ exp: now - 1, iat: now - 301 }),
    "no exp": make({}, ["exp"]),
    "exp as text": make({ exp: String(now + 300) }),
    "exp 1e300": make({ exp: 1e300 }),
    "nbf in 10 minutes": make({ nbf: now + 600 }),
    "iat in an hour": make({ iat: now + 3600, exp: now + 7200 }),
    "issuer and 2": make({ iss: `${issuer}2` }),
    "issuer and slash": make({ iss: `${issuer}/` }),
    "issuer in capitals": make({ iss: issuer.replace("/realms/", "/REALMS/") }),
    "issuer elsewhere, good key": make({ iss: `${hostileUrl}/?y=${issuer}` }),
    "no issuer": make({}, ["iss"]),
    "unknown kid, good key": signed({ ...header, kid: "unknown" }, payload, key),
    "offline token": make({ typ: "Offline" }),
    "refresh token, good key": make({ typ: "Refresh", aud: issuer }),
    "logout token": signed({ ...header, typ: "logout+jwt" }, { ...payload, typ: "Logout", events: {} }, key),
    "claims that break lines": make({
      sub: "a\r\nx-injected: 1",
      preferred_username: "zoë\r\nx-injected: 1",
      name: "zoë\r\nx-injected: 1",
    }),
    "critical extension": signed({ ...header, crit: ["b64"], b64: true }, payload, key),
    "payload of no object": signedText(header, "[]", key),
    "token for another audience": make({ aud: "elsewhere" }),
    "token without audience": make({}, ["aud"]),
    "token bound to a key": make({ cnf: { jkt: "0".repeat(43) } }),
    "token of another client": make({ aud: "other-client", azp: "other-client" }),
    "token for two clients": make({ aud: [payload["aud"], "other-client"] }),
    "token asked for by another client": make({ azp: "other-client" }),
  }
}

/** Name of a credential that the check knows. */
export type CredentialName =
  | "access token"
  | "ID token"
  | "access token without roles"
  | "access token of another realm"
  | "refresh token"
  | "ID token with another signature"
  | keyof typeof NOTHING
  | keyof ReturnType<typeof outsiders>
  | keyof ReturnType<typeof insiders>

/** Which good token a broken one is made from. */
export type TokenBase = "access" | "id"

/** Credentials by name; one that cannot be made is absent. */
export type Credentials = Readonly<Partial<Record<CredentialName, string | undefined>>>

const brokenFrom = (token: string | undefined, material: Material): Credentials => {
  const parts = token === undefined ? undefined : readParts(token)
  if (parts === undefined) return {}
  const { signingKey } = material
  return { ...outsiders(parts, material), ...(signingKey === undefined ? {} : insiders(parts, material, signingKey)) }
}

/**
 * Every credential the check knows, broken ones made from the access token and from the ID token: a route for ID tokens
 * refuses everything that is made from an access token already for its kind.
 */
export const makeCredentials = (material: Material): Readonly<Record<TokenBase, Credentials>> => {
  const { access, id, service, otherRealm, refresh } = material
  const signature = access?.split(".")[2]
  const whole: Credentials = {
    ...NOTHING,
    "access token": access,
    "ID token": id,
    "access token without roles": service,
    "access token of another realm": otherRealm,
    "refresh token": refresh,
    "ID token with another signature":
      id === undefined || signature === undefined ? undefined : `${id.split(".").slice(0, 2).join(".")}.${signature}`,
  }
  return {
    access: { ...whole, ...brokenFrom(access ?? id, material) },
    id: { ...whole, ...brokenFrom(id ?? access, material) },
  }
}

/** Credentials of somebody who has no token. */
export const NO_CREDENTIALS: Readonly<Record<TokenBase, Credentials>> = { access: NOTHING, id: NOTHING }

/** Name of the shell variable that holds a credential: `ALG_NONE_TOKEN`, `ID_ALG_NONE_TOKEN` for one made from an ID token. */
export const variableOf = (name: CredentialName, base: TokenBase): string => {
  const word = name.toUpperCase().replace(/[^A-Z0-9]+/g, "_")
  const isMade = !/^(access token|ID token|refresh token|none|garbage|three parts)/.test(name)
  return `${isMade && base === "id" ? "ID_" : ""}${word}${word.includes("TOKEN") ? "" : "_TOKEN"}`
}

/** Every credential as an assignment for a shell. */
export const shellVariables = (credentials: Readonly<Record<TokenBase, Credentials>>): string =>
  [
    ...new Map(
      (["access", "id"] as const).flatMap((base) =>
        Object.entries(credentials[base]).flatMap(([name, token]) =>
          token === undefined ? [] : [[variableOf(name as CredentialName, base), token] as const],
        ),
      ),
    ),
  ]
    .map(([name, token]) => `${name}='${token}'\n`)
    .join("")

/** A key pair of an attacker. */
export const newHostileKey = (): KeyObject => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey
