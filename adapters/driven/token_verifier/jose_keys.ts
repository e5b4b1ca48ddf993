import { createPublicKey, type KeyObject, X509Certificate } from "node:crypto"
import { Data, Effect, Option } from "effect"
import { type CryptoKey, importJWK } from "jose"
import { InvalidIdentitySetup } from "../../../domain/identity/errors.ts"
import { isObject, type JsonObject } from "../../../domain/json_object.ts"

/** A key that may have signed a realm's token. */
export interface RealmKey {
  /** Key id, when its source gave one. A certificate or a bare key has none. */
  readonly kid: string | undefined
  readonly key: CryptoKey
}

/** Least bits of an RSA key for RS256 (RFC 7518 section 3.3). The platform would refuse a shorter one only at the first token. */
const BITS_MIN = 2048

const REQUIRED = `must be an RSA public key of ${BITS_MIN} bits or more`

/** A source holds no usable key: which rule it breaks, never a piece of it. */
class Unusable extends Data.TaggedError("Unusable")<{ readonly rule: string }> {}

const unusable = (rule: string) => new Unusable({ rule })

/** Undoes what environment files, shells and copying add: blanks, a BOM, quotes, escaped or foreign line ends. */
const tidied = (source: string): string => {
  const text = source.trim().replaceAll("\\r", "").replaceAll("\\n", "\n").replaceAll('\\"', '"').trim()
  const quote = text[0]
  return text.length > 1 && (quote === '"' || quote === "'" || quote === "`") && text.endsWith(quote)
    ? tidied(text.slice(1, -1))
    : text
}

/** The platform's own errors are dropped: they may repeat what they were given. */
const attempt = <A>(read: () => A): A | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

const fromSpki = (der: Buffer) => attempt(() => createPublicKey({ key: der, format: "der", type: "spki" }))

/** The validity dates of a certificate are not looked at: a realm's certificate only carries its key. */
const fromCertificate = (der: Buffer) => attempt(() => new X509Certificate(der).publicKey)

/** The bytes that the text stands for, when it is base64 (RFC 4648 section 4) with or without its padding. */
const bytesOf = (base64: string): Buffer | undefined => {
  const bytes = Buffer.from(base64, "base64")
  return bytes.toString("base64").replace(/=+$/, "") === base64.replace(/={0,2}$/, "") ? bytes : undefined
}

/**
 * How many bytes the DER value takes whose first bytes these are; keys and certificates are SEQUENCEs (tag 0x30).
 *
 * @returns `undefined` while too few bytes are there to tell; 0 for what is no SEQUENCE
 * @see X.690 section 8.1.3
 */
const derLength = (bytes: Buffer): number | undefined => {
  const [tag, first] = bytes
  if (tag === undefined || first === undefined) return undefined
  if (tag !== 0x30) return 0
  if (first < 0x80) return 2 + first
  const digits = first & 0x7f
  if (digits < 1 || digits > 3) return 0
  return bytes.length < 2 + digits ? undefined : 2 + digits + bytes.readUIntBE(2, digits)
}

/** Refuses every key that could not verify RS256 safely. */
const rsaOnly = (key: KeyObject | undefined, unreadable: string): KeyObject | Unusable => {
  if (key === undefined) return unusable(unreadable)
  if (key.asymmetricKeyType !== "rsa") return unusable(`${REQUIRED}, not of another kind`)
  return (key.asymmetricKeyDetails?.modulusLength ?? 0) >= BITS_MIN ? key : unusable(`${REQUIRED}, not a shorter one`)
}

const fromPem = (label: string, body: string): KeyObject | Unusable => {
  if (label.includes("PRIVATE")) return unusable("must be a public key, not a private one")
  const der = bytesOf(body.replace(/\s+/g, ""))
  if (der === undefined || derLength(der) !== der.length) return unusable("holds a broken PEM block")
  if (label === "PUBLIC KEY") return rsaOnly(fromSpki(der), "holds a broken public key")
  if (label === "CERTIFICATE") return rsaOnly(fromCertificate(der), "holds a broken certificate")
  return unusable("must hold PEM blocks of the kind PUBLIC KEY or CERTIFICATE")
}

const PEM = /-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----/g

const fromPems = (text: string): ReadonlyArray<KeyObject | Unusable> =>
  // Text beside the blocks is refused rather than skipped: whoever wrote it meant something that would not be done.
  text.replace(PEM, "").trim() === ""
    ? [...text.matchAll(PEM)].map(([, label = "", body = ""]) => fromPem(label, body))
    : [unusable("holds text outside its PEM blocks, or a broken block")]

const BAD_BASE64 =
  "must be PEM, base64, a JWK or a JWKS; a bare key must be whole, and nothing but another key may follow it"

/** A key may be wrapped into lines, and only its own length tells where it ends: so pieces are joined until it is whole. */
const fromBase64 = (text: string): ReadonlyArray<KeyObject | Unusable> => {
  const keys: Array<KeyObject | Unusable> = []
  let key = ""
  for (const piece of text.split(/\s+/)) {
    key += piece
    const der = bytesOf(key)
    const length = der === undefined ? undefined : derLength(der)
    if (der === undefined || length === undefined || der.length < length) continue
    if (der.length > length) return [unusable(BAD_BASE64)]
    keys.push(rsaOnly(fromSpki(der) ?? fromCertificate(der), REQUIRED))
    key = ""
  }
  return key === "" ? keys : [unusable(BAD_BASE64)]
}

const isPrivate = (jwk: JsonObject): boolean => "d" in jwk || "k" in jwk

/** True for a JWK meant for RS256 signatures; a realm also publishes its encryption keys (`use: "enc"`, RSA-OAEP). */
const isForSignatures = (jwk: JsonObject): boolean => {
  const { use, alg, key_ops: operations } = jwk
  const may = operations === undefined || (Array.isArray(operations) && operations.includes("verify"))
  return (use === undefined || use === "sig") && (alg === undefined || alg === "RS256") && may
}

const fromJwk = (jwk: JsonObject): KeyObject | Unusable => {
  if (isPrivate(jwk)) return unusable("must be a public key, not a private one")
  if (jwk["kty"] !== "RSA" || !isForSignatures(jwk)) return unusable(`${REQUIRED}, meant for RS256 signatures`)
  const { n, e } = jwk
  return typeof n === "string" && typeof e === "string"
    ? rsaOnly(
        attempt(() => createPublicKey({ key: { kty: "RSA", n, e }, format: "jwk" })),
        "holds a broken JWK",
      )
    : unusable("holds a broken JWK")
}

const kidOf = (jwk: JsonObject): string | undefined => (typeof jwk["kid"] === "string" ? jwk["kid"] : undefined)

interface Found {
  readonly kid: string | undefined
  readonly key: KeyObject | Unusable
}

const keysOfSet = (set: unknown): ReadonlyArray<JsonObject> | undefined =>
  isObject(set) && Array.isArray(set["keys"]) ? set["keys"].filter(isObject) : undefined

const fromJson = (text: string): ReadonlyArray<Found> => {
  const value = attempt((): unknown => JSON.parse(text))
  const keys = keysOfSet(value)
  if (keys !== undefined)
    return keys
      .filter((jwk) => isPrivate(jwk) || (jwk["kty"] === "RSA" && isForSignatures(jwk)))
      .map((jwk) => ({ kid: kidOf(jwk), key: fromJwk(jwk) }))
  return isObject(value)
    ? [{ kid: kidOf(value), key: fromJwk(value) }]
    : [{ kid: undefined, key: unusable("holds broken JSON") }]
}

const find = (source: string): ReadonlyArray<Found> => {
  const text = tidied(source)
  if (text === "") return [{ kid: undefined, key: unusable("must not be empty") }]
  if (text.startsWith("{")) return fromJson(text)
  const keys = text.includes("-----") ? fromPems(text) : fromBase64(text)
  return keys.map((key) => ({ kid: undefined, key }))
}

/** The token library reads the key as a JWK: the one form that Bun and Deno both export and import. */
const toRealmKey = ({ kid, key }: Found): Effect.Effect<RealmKey, Unusable> =>
  key instanceof Unusable
    ? Effect.fail(key)
    : Effect.tryPromise({
        try: async () => ({ kid, key: (await importJWK(key.export({ format: "jwk" }), "RS256")) as CryptoKey }),
        catch: () => unusable(REQUIRED),
      })

/**
 * Reads the realm's key or keys from a configured text.
 *
 * Every key counts: several PEM blocks in a row, or several bare keys with blanks or line ends between them.
 *
 * @param source PEM blocks (SPKI or X.509), bare base64 of either, a JWK, or a JWKS; quotes, blanks, a BOM, CRLF and literal
 * `\n` around and inside are forgiven
 * @fails {InvalidIdentitySetup} when any key in it is private, broken, not RSA or below 2048 bits, when anything but another
 * key follows a key, or when none can verify RS256; names the option and the rule, never the source
 * @see specification 5.1
 */
export const readKeys = Effect.fnUntraced(
  function* (source: string) {
    const keys = yield* Effect.forEach(find(source), toRealmKey)
    return keys.length > 0 ? keys : yield* unusable(REQUIRED)
  },
  Effect.mapError(({ rule }) => new InvalidIdentitySetup({ option: "keys", rule })),
)

/**
 * The usable keys of a fetched JWKS. A key that is of no use here is skipped: realms publish encryption and elliptic keys too.
 *
 * @returns `undefined` when the text is no JWKS at all
 */
export const readKeySet = Effect.fnUntraced(function* (text: string) {
  const keys = keysOfSet(attempt((): unknown => JSON.parse(text)))
  if (keys === undefined) return undefined
  const usable = yield* Effect.forEach(keys, (jwk) => Effect.option(toRealmKey({ kid: kidOf(jwk), key: fromJwk(jwk) })))
  return usable.flatMap(Option.toArray)
})
