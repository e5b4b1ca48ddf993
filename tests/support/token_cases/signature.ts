// J13..J41: algorithm, key, signature, and what the header says about them.
import {
  bareOf,
  base64url,
  hmacToken,
  jwkOf,
  KEYS,
  pemOf,
  signText,
  signToken,
  type TokenKit,
  withParts,
} from "../tokens.ts"
import { accepted, lazyKeys, refused, type TokenCase, withHeader } from "./token_case.ts"

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

const unsigned = (kit: TokenKit, alg: unknown, signature = ""): string =>
  `${base64url({ ...kit.header, alg })}.${base64url(kit.claims)}.${signature}`

const signatureOf = (kit: TokenKit): string => kit.access().split(".")[2] ?? ""

const withSignature = (change: (signature: string) => string) => (kit: TokenKit) =>
  withParts(kit.access(), ([header, payload, signature]) => [header, payload, change(signature)])

/** Another spelling of the same signature: 256 bytes leave four unused bits in the last character. */
const respelled = (signature: string): string =>
  signature.slice(0, -1) + BASE64URL.charAt(BASE64URL.indexOf(signature.slice(-1)) + 1)

const BAD_SIGNATURES: ReadonlyArray<readonly [id: string, title: string, change: (signature: string) => string]> = [
  ["J24", "an empty signature", () => ""],
  ["J24", "a truncated signature", (signature) => signature.slice(0, 340)],
  ["J24", "a signature of zeroes", (signature) => "A".repeat(signature.length)],
  // 256 bytes leave four unused bits, which are zero here, and 257 bytes two: one character more.
  ["J24", "a signature with a zero byte more", (signature) => `${signature}A`],
  ["J25", "unused bits of the signature set", respelled],
  ["J26", "padding after the signature", (signature) => `${signature}==`],
  ["J27", "a space inside the signature", (signature) => `${signature.slice(0, 9)} ${signature.slice(9)}`],
]

const confused = (secret: string | Uint8Array) => (kit: TokenKit) =>
  hmacToken({ ...kit.header, alg: "HS256" }, kit.claims, secret)

const PEM = () => pemOf(KEYS.realm().publicKey)
const SPKI = () => KEYS.realm().publicKey.export({ type: "spki", format: "der" })

const by = (key: "realm" | "other" | "elliptic" | "edwards", alg: Parameters<typeof signToken>[3]) => (kit: TokenKit) =>
  signToken({ ...kit.header, alg }, kit.claims, KEYS[key]().privateKey, alg)

const byOther = (header: Readonly<Record<string, unknown>>) => (kit: TokenKit) =>
  signToken({ ...kit.header, ...header }, kit.claims, KEYS.other().privateKey)

/** A token whose signature spells differently in the standard base64 alphabet. */
const standardAlphabet = (kit: TokenKit): string => {
  for (let n = 0; ; n++) {
    const [header, payload, signature = ""] = kit.access({ jti: `${n}` }).split(".")
    if (/[-_]/.test(signature)) return [header, payload, signature.replaceAll("-", "+").replaceAll("_", "/")].join(".")
  }
}

const MESSY_KEYS: ReadonlyArray<readonly [title: string, keys: () => string]> = [
  ["a leading space", () => ` ${PEM()}`],
  ["a byte order mark", () => `\uFEFF${PEM()}`],
  ["literal \\n", () => PEM().replaceAll("\n", "\\n")],
  ["leading line ends", () => `\n\n${PEM()}`],
]

/** A realm that publishes its key with these members, beside another key. */
const published = (more: Readonly<Record<string, unknown>>) => ({
  published: () => ({
    keys: [
      jwkOf(KEYS.realm().publicKey, { kid: "realm-key-1", ...more }),
      jwkOf(KEYS.other().publicKey, { kid: "sig" }),
    ],
  }),
})

export const SIGNATURE_CASES: ReadonlyArray<TokenCase> = [
  refused("J13", "alg none, no signature", (kit) => unsigned(kit, "none")),
  refused("J14", "alg nOnE", (kit) => unsigned(kit, "nOnE")),
  refused("J14", "alg none, a kept signature", (kit) => unsigned(kit, "none", signatureOf(kit))),
  ...[undefined, null, ["RS256"], "rs256", "__proto__", "constructor"].map((alg) =>
    refused("J15", `alg ${JSON.stringify(alg) ?? "missing"}`, withHeader({ alg })),
  ),
  refused("J16", "HS256 keyed with the PEM", (kit) => confused(PEM())(kit), { setup: { keys: PEM() } }),
  refused("J17", "HS256 keyed with the trimmed PEM", (kit) => confused(PEM().trim())(kit)),
  refused("J17", "HS256 keyed with the bare base64", (kit) => confused(bareOf(KEYS.realm().publicKey))(kit)),
  refused("J17", "HS256 keyed with the DER bytes", (kit) => confused(SPKI())(kit)),
  ...MESSY_KEYS.flatMap(([title, keys]) => [
    refused("J18", `HS256 keyed with a PEM configured with ${title}`, (kit) => confused(keys())(kit), lazyKeys(keys)),
    accepted("J18", `RS256 with a PEM configured with ${title}`, (kit) => kit.access(), lazyKeys(keys)),
  ]),
  refused("J19", "RS384", by("realm", "RS384")),
  refused("J19", "RS512", by("realm", "RS512")),
  refused("J19", "PS256", by("realm", "PS256")),
  refused("J19", "ES256", by("elliptic", "ES256")),
  refused("J19", "EdDSA", by("edwards", "EdDSA")),
  refused("J20", "another key", by("other", "RS256")),
  refused("J21", "another realm's key under our issuer", byOther({ kid: "other-realm-key" })),
  refused("J22", "a changed payload", (kit) =>
    withParts(kit.access(), ([header, , signature]) => [
      header,
      base64url({ ...kit.claims, realm_access: { roles: ["root"] } }),
      signature,
    ]),
  ),
  refused("J23", "a changed header", (kit) =>
    withParts(kit.access(), ([, payload, signature]) => [base64url({ ...kit.header, kid: "x" }), payload, signature]),
  ),
  ...BAD_SIGNATURES.map(([id, title, change]) => refused(id, title, withSignature(change))),
  refused(
    "J27",
    "a line end inside the signature",
    withSignature((signature) => `${signature.slice(0, 9)}\n${signature.slice(9)}`),
    { wire: [400] },
  ),
  refused("J28", "a padded header, signed so", (kit) => {
    const header = Buffer.from(JSON.stringify({ ...kit.header, pad: "xx" })).toString("base64")
    return signText(`${header.endsWith("=") ? header : `${header}=`}.${base64url(kit.claims)}`)
  }),
  refused("J29", "the standard base64 alphabet", standardAlphabet),
  refused("J30", "a Cyrillic look-alike", (kit) => kit.access().replace("e", "\u0435"), { wire: [400] }),
  refused("J30", "an umlaut", (kit) => `${kit.access()}\u00E4`, { wire: [400] }),
  refused("J30", "a NUL", (kit) => `${kit.access()}\0`, { wire: [400] }),
  refused("J31", "an unknown critical parameter", withHeader({ crit: ["foo"], foo: 1 })),
  refused("J32", "an empty list of critical parameters", withHeader({ crit: [] })),
  refused("J33", "b64 false, critical, a bare payload", (kit) =>
    signText(`${base64url({ ...kit.header, b64: false, crit: ["b64"] })}.${JSON.stringify(kit.claims)}`),
  ),
  refused("J33", "b64 false, critical, an encoded payload", withHeader({ b64: false, crit: ["b64"] })),
  refused("J34", "b64 false, not critical", withHeader({ b64: false })),
  refused("J35", "the attacker's key embedded", (kit) => byOther({ jwk: jwkOf(KEYS.other().publicKey) })(kit)),
  accepted("J36", "jku, our signature", (kit, trap) => kit.access({}, { jku: `${trap}/jku` })),
  accepted("J36", "x5u, our signature", (kit, trap) => kit.access({}, { x5u: `${trap}/x5u` })),
  refused("J37", "jku, the attacker's signature", (kit, trap) => byOther({ jku: `${trap}/jku` })(kit)),
  refused("J37", "x5u, the attacker's signature", (kit, trap) => byOther({ x5u: `${trap}/x5u` })(kit)),
  refused("J38", "the attacker's certificate embedded", (kit) =>
    byOther({ x5c: [bareOf(KEYS.other().publicKey)] })(kit),
  ),
  ...["../../etc/passwd", "' OR 1=1 --", { $ne: 1 }, 5, "k".repeat(10_000)].map((kid) =>
    accepted("J39", `kid ${JSON.stringify(kid).slice(0, 20)} beside a fixed key`, withHeader({ kid })),
  ),
  refused("J40", "a kid the realm does not publish", withHeader({ kid: "nobody" }), published({})),
  refused("J40", "a kid that is no text", withHeader({ kid: { $ne: 1 } }), published({})),
  accepted("J40", "a kid the realm publishes", (kit) => kit.access(), published({ use: "sig", alg: "RS256" })),
  refused("J41", "a key published for encryption by use", (kit) => kit.access(), published({ use: "enc" })),
  refused("J41", "a key published for encryption by algorithm", (kit) => kit.access(), published({ alg: "RSA-OAEP" })),
]
