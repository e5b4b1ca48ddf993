import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import type { JWK } from "jose"

type Part = Readonly<Record<string, unknown>>

const encode = (part: Part): string => Buffer.from(JSON.stringify(part)).toString("base64url")
const decode = (token: string, part: 0 | 1): Part =>
  JSON.parse(Buffer.from(token.split(".")[part] ?? "", "base64url").toString("utf8"))

const signedText = (header: Part, payload: string, key: KeyObject): string => {
  const input = `${encode(header)}.${Buffer.from(payload).toString("base64url")}`
  return `${input}.${sign("sha256", Buffer.from(input), key).toString("base64url")}`
}

const signed = (header: Part, payload: Part, key: KeyObject): string => signedText(header, JSON.stringify(payload), key)

/** What broken tokens are made from. */
export interface Material {
  readonly issuer: string
  /** Good tokens of the realm. */
  readonly access: string
  readonly id: string
  /** Token of a client that holds no user's roles. */
  readonly service: string
  /** Access token of another realm of the same provider, if there is one. */
  readonly otherRealm?: string
  readonly refresh?: string
  /** The realm's private signing key, when the realm is our own: without it some rows cannot be asked. */
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

const pemOf = (jwk: JWK | undefined): string =>
  jwk === undefined
    ? ""
    : String(createPublicKey({ key: { ...jwk }, format: "jwk" }).export({ type: "spki", format: "pem" }))

const without = (payload: Part, ...names: ReadonlyArray<string>): Part =>
  Object.fromEntries(Object.entries(payload).filter(([name]) => !names.includes(name)))

/** Tokens anybody can make without the realm's key. */
const outsiders = (material: Material) => {
  const { access, id, issuer, hostileKey, hostileUrl, publicKeys } = material
  const [header, payload] = [decode(access, 0), decode(access, 1)]
  const [, , signature = ""] = access.split(".")
  const hostileJwk = createPublicKey(hostileKey).export({ format: "jwk" })
  const evil = { ...header, kid: "evil" }
  return {
    none: undefined,
    garbage: "garbage",
    "three parts of nothing": "a.b.c",
    "tampered payload": `${access.split(".")[0]}.${encode({ ...payload, sub: "root" })}.${signature}`,
    "signature removed": `${access.split(".").slice(0, 2).join(".")}.`,
    "wrong key, same kid": signed(header, payload, hostileKey),
    "alg none": `${encode({ ...header, alg: "none" })}.${encode(payload)}.`,
    "alg None": `${encode({ ...header, alg: "None" })}.${encode(payload)}.`,
    "HS256 with the public key": hmac({ alg: "HS256", typ: "JWT", kid: header["kid"] }, payload, pemOf(publicKeys[0])),
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
    "ID token with another signature": `${id.split(".").slice(0, 2).join(".")}.${signature}`,
  }
}

/** Well-signed tokens that must not open anything all the same. Only the owner of the realm's key can make them. */
const insiders = ({ access, id, issuer, hostileUrl }: Material, key: KeyObject) => {
  const [header, payload, idPayload] = [decode(access, 0), decode(access, 1), decode(id, 1)]
  const now = Math.floor(Date.now() / 1000)
  const make = (more: Part, drop: ReadonlyArray<string> = []) =>
    signed(header, { ...without(payload, ...drop), ...more }, key)
  const makeId = (more: Part, drop: ReadonlyArray<string> = []) =>
    signed(header, { ...without(idPayload, ...drop), ...more }, key)
  return {
    "expired an hour ago": make({ exp: now - 3600, iat: now - 7200 }),
    "expired 30 s ago": make({ exp: now - 30, iat: now - 330 }),
    "expired a second ago": make({ exp: now - 1, iat: now - 301 }),
    "ID token expired a second ago": makeId({ exp: now - 1, iat: now - 301 }),
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
    "access token for another audience": make({ aud: "elsewhere" }),
    "access token without audience": make({}, ["aud"]),
    "access token bound to a key": make({ cnf: { jkt: "0".repeat(43) } }),
    "ID token of another client": makeId({ aud: "other-client", azp: "other-client" }),
    "ID token for two clients": makeId({ aud: [idPayload["aud"], "other-client"] }),
    "ID token without audience": makeId({}, ["aud"]),
    "ID token asked for by another client": makeId({ azp: "other-client" }),
    "access token whose claims break lines": make({
      sub: "a\r\nx-injected: 1",
      preferred_username: "zoë\r\nx-injected: 1",
    }),
    "ID token whose claims break lines": makeId({ sub: "a\r\nx-injected: 1", name: "zoë\r\nx-injected: 1" }),
    "critical extension": signed({ ...header, crit: ["b64"], b64: true }, payload, key),
    "payload of no object": signedText(header, "[]", key),
  }
}

/** Every credential the check knows, by name; one that cannot be made here is absent. */
export const makeCredentials = (material: Material) => ({
  "access token": material.access,
  "ID token": material.id,
  "access token without roles": material.service,
  "access token of another realm": material.otherRealm,
  "refresh token": material.refresh,
  ...outsiders(material),
  ...(material.signingKey === undefined ? {} : insiders(material, material.signingKey)),
})

/** Name of a credential that the check knows. */
export type CredentialName =
  | "access token"
  | "ID token"
  | "access token without roles"
  | "access token of another realm"
  | "refresh token"
  | keyof ReturnType<typeof outsiders>
  | keyof ReturnType<typeof insiders>

/** A key pair of an attacker. */
export const newHostileKey = (): KeyObject => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey
