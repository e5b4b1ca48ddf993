// J58, J90..J92: what the setup accepts as a key, an issuer, an audience.
import { certificateOf, certificatePem } from "../certificate.ts"
import { bareOf, jwkOf, KEYS, pemOf, signToken, type TokenKit } from "../tokens.ts"
import { accepted, lazyKeys, refused, type TokenCase } from "./token_case.ts"

/** A setup that must be refused at start, and the option the refusal names. */
export interface SetupCase {
  readonly id: string
  readonly title: string
  readonly option: string
  readonly setup: () => Readonly<Record<string, unknown>>
}

const realm = () => KEYS.realm().publicKey
const PEM = () => pemOf(realm())
const BARE = () => bareOf(realm())
const der = () => realm().export({ type: "spki", format: "der" })
const pemOfDer = (bytes: Buffer) =>
  `-----BEGIN PUBLIC KEY-----\n${bytes.toString("base64")}\n-----END PUBLIC KEY-----\n`
const inLines = (base64: string) => base64.replace(/.{64}/g, "$&\n")

const exported = (type: "pkcs1" | "pkcs8", key: "publicKey" | "privateKey") => (): string =>
  String(KEYS.realm()[key].export({ type: type as "pkcs8", format: "pem" }))

const keys = (title: string, make: () => string): SetupCase => ({
  id: "J90",
  title,
  option: "keys",
  setup: () => ({ keys: make() }),
})

const option = (id: string, title: string, name: string, setup: Readonly<Record<string, unknown>>): SetupCase => ({
  id,
  title,
  option: name,
  setup: () => ({ keys: BARE(), ...setup }),
})

const set = (...members: ReadonlyArray<unknown>): string => JSON.stringify({ keys: members })

export const SETUP_CASES: ReadonlyArray<SetupCase> = [
  option("J58", "an empty issuer", "issuer", { issuer: "" }),
  option("J58", "a blank issuer", "issuer", { issuer: "  " }),
  option("J58", "an empty audience", "audience", { audience: "" }),
  option("J58", "an empty list of clients", "authorizedParties", { authorizedParties: [] }),
  option("J58", "a blank client", "authorizedParties", { authorizedParties: ["x", ""] }),
  option("J58", "a negative tolerance", "clockToleranceS", { clockToleranceS: -1 }),
  option("J58", "a tolerance that is no number", "clockToleranceS", { clockToleranceS: Number.NaN }),
  option("J58", "an endless tolerance", "clockToleranceS", { clockToleranceS: Number.POSITIVE_INFINITY }),
  option("J58", "a cache of -1", "cacheSize", { cacheSize: -1 }),
  option("J58", "a key beside an address", "jwksUrl", { jwksUrl: "http://localhost/certs" }),
  { id: "J58", title: "neither key nor address", option: "keys", setup: () => ({}) },
  { id: "J58", title: "an address that is none", option: "jwksUrl", setup: () => ({ jwksUrl: "certs" }) },
  { id: "J58", title: "a file address", option: "jwksUrl", setup: () => ({ jwksUrl: "file:///etc/passwd" }) },
  {
    id: "J58",
    title: "an address with a password",
    option: "jwksUrl",
    setup: () => ({ jwksUrl: "http://u:hunter2@localhost/certs" }),
  },
  keys("1024 bits, PEM", () => pemOf(KEYS.short().publicKey)),
  keys("1024 bits, bare base64", () => bareOf(KEYS.short().publicKey)),
  keys("1024 bits, JWK", () => JSON.stringify(jwkOf(KEYS.short().publicKey))),
  keys("1024 bits, JWKS beside a good one", () => set(jwkOf(realm()), jwkOf(KEYS.short().publicKey))),
  keys("an elliptic key, PEM", () => pemOf(KEYS.elliptic().publicKey)),
  keys("an elliptic key, JWK", () => JSON.stringify(jwkOf(KEYS.elliptic().publicKey))),
  keys("an elliptic key, the only one of a JWKS", () => set(jwkOf(KEYS.elliptic().publicKey))),
  keys("an Edwards key, bare base64", () => bareOf(KEYS.edwards().publicKey)),
  keys("a private key, PKCS#8", exported("pkcs8", "privateKey")),
  keys("a private key, PKCS#1", exported("pkcs1", "privateKey")),
  keys("a private key, bare base64", () =>
    KEYS.realm().privateKey.export({ type: "pkcs8", format: "der" }).toString("base64"),
  ),
  keys("a certificate of 1024 bits", () => certificatePem(certificateOf(KEYS.short()))),
  keys("a truncated certificate", () => certificateOf(KEYS.realm()).toString("base64").slice(0, 400)),
  keys("a private key, JWK", () => JSON.stringify(jwkOf(KEYS.realm().privateKey))),
  keys("a private key in a JWKS", () => set(jwkOf(realm()), jwkOf(KEYS.other().privateKey))),
  keys("a secret in a JWKS", () => set(jwkOf(realm()), { kty: "oct", k: "c2VjcmV0" })),
  keys("a secret, JWK", () => JSON.stringify({ kty: "oct", k: "c2VjcmV0" })),
  keys("a public key, PKCS#1", exported("pkcs1", "publicKey")),
  keys("a public key, PKCS#1, bare base64", () => realm().export({ type: "pkcs1", format: "der" }).toString("base64")),
  keys("a JWK for encryption", () => JSON.stringify(jwkOf(realm(), { use: "enc" }))),
  keys("a JWK without its modulus", () => JSON.stringify({ kty: "RSA", e: "AQAB" })),
  keys("an empty JWKS", () => set()),
  keys("a JSON array", () => JSON.stringify([jwkOf(realm())])),
  keys("broken JSON", () => JSON.stringify(jwkOf(realm())).slice(0, -5)),
  keys("nothing", () => ""),
  keys("blanks", () => " \n\t"),
  keys("empty quotes", () => '""'),
  keys("rubbish", () => "not a key at all!"),
  keys("rubbish that is base64", () => "bm90IGEga2V5IGF0IGFsbA=="),
  keys("a truncated PEM", () => PEM().slice(0, 200)),
  keys("a PEM with a truncated body", () => PEM().replace(/\n[^\n]{64}\n/, "\n")),
  keys("truncated base64", () => BARE().slice(0, 200)),
  keys("a comment before the PEM", () => `# our key\n${PEM()}`),
  keys("a good PEM, then a broken one", () => `${PEM()}-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n`),
  keys("a good PEM with bytes after its key", () => pemOfDer(Buffer.concat([der(), Buffer.from([0])]))),
  keys("a bare key, then a short one", () => `${BARE()}\n${bareOf(KEYS.short().publicKey)}`),
  keys("a bare key, then an elliptic one", () => `${BARE()} ${bareOf(KEYS.elliptic().publicKey)}`),
  keys("a bare key, then a truncated one", () => `${BARE()}\n${bareOf(KEYS.other().publicKey).slice(0, -4)}`),
  keys("a bare key, then base64 that is no key", () => `${BARE()}\nbm90IGEga2V5IGF0IGFsbA==`),
  keys("a bare key, then one letter", () => `${BARE()} A`),
  keys("a bare key, then a word", () => `${BARE()} # ours`),
  keys("a bare key with more bytes in its line", () => Buffer.concat([der(), Buffer.from("more")]).toString("base64")),
  keys("two bare keys with nothing between them", () => `${BARE()}${bareOf(KEYS.other().publicKey)}`),
  keys("two bare keys with a comma between them", () => `${BARE()},${bareOf(KEYS.other().publicKey)}`),
  keys("a bare key beside a PEM", () => `${bareOf(KEYS.other().publicKey)}\n${PEM()}`),
  keys("a good PEM, then a private one", () => `${PEM()}${exported("pkcs8", "privateKey")()}`),
]

/** Spellings of the realm's own key. */
const SPELLINGS: ReadonlyArray<readonly [title: string, make: () => string]> = [
  ["bare base64", BARE],
  ["bare base64 in lines", () => inLines(BARE())],
  ["PEM", PEM],
  ["PEM with CRLF", () => PEM().replaceAll("\n", "\r\n")],
  ["PEM in one line", () => PEM().replaceAll("\n", "")],
  ["PEM in one line with spaces", () => PEM().replaceAll("\n", " ")],
  ["PEM with literal \\n", () => PEM().replaceAll("\n", "\\n")],
  ["PEM with literal \\r\\n", () => PEM().replaceAll("\n", "\\r\\n")],
  ["quoted PEM", () => `"${PEM()}"`],
  ["quoted PEM with literal \\n", () => `'${PEM().replaceAll("\n", "\\n")}'`],
  ["bare base64 in quotes and blanks", () => `  "${BARE()}" \n`],
  ["blanks around", () => `\t ${PEM()} \r\n\n`],
  ["a byte order mark", () => `\uFEFF${BARE()}`],
  ["X.509 certificate, PEM", () => certificatePem(certificateOf(KEYS.realm()))],
  ["X.509 certificate, bare base64", () => certificateOf(KEYS.realm()).toString("base64")],
  ["JWK", () => JSON.stringify(jwkOf(realm()))],
  ["JWK with kid, use and alg", () => JSON.stringify(jwkOf(realm(), { kid: "k", use: "sig", alg: "RS256" }))],
  ["JWK, escaped by a shell", () => JSON.stringify(JSON.stringify(jwkOf(realm())))],
  ["JWKS", () => JSON.stringify({ keys: [jwkOf(realm())] }, null, 2)],
  [
    "JWKS with keys of other kinds",
    () =>
      set(
        jwkOf(KEYS.other().publicKey, { use: "enc", alg: "RSA-OAEP" }),
        jwkOf(KEYS.elliptic().publicKey),
        jwkOf(realm()),
      ),
  ],
]

const TWO: ReadonlyArray<readonly [title: string, make: () => string]> = [
  ["two PEMs", () => `${PEM()}${pemOf(KEYS.other().publicKey)}`],
  ["two PEMs in one line", () => `${PEM()}${pemOf(KEYS.other().publicKey)}`.replaceAll("\n", "\\n")],
  ["two bare keys, one a line", () => `${BARE()}\n${bareOf(KEYS.other().publicKey)}\n`],
  ["two bare keys with a blank between them", () => `${BARE()} ${bareOf(KEYS.other().publicKey)}`],
  ["two bare keys with a literal \\n between them", () => `"${BARE()}\\n${bareOf(KEYS.other().publicKey)}"`],
  ["two bare keys, each in lines", () => `${inLines(BARE())}\n\n${inLines(bareOf(KEYS.other().publicKey))}`],
  [
    "a bare certificate, then a bare key",
    () => `${certificateOf(KEYS.realm()).toString("base64")}\n${bareOf(KEYS.other().publicKey)}`,
  ],
  ["a JWKS of two", () => set(jwkOf(realm(), { kid: "a" }), jwkOf(KEYS.other().publicKey, { kid: "b" }))],
]

const byOther = (kit: TokenKit) => signToken(kit.header, kit.claims, KEYS.other().privateKey)

export const KEY_CASES: ReadonlyArray<TokenCase> = [
  ...SPELLINGS.map(([title, make]) => accepted("J91", title, (kit) => kit.access(), lazyKeys(make))),
  ...TWO.flatMap(([title, make]) => [
    accepted("J92", `${title}: the first`, (kit) => kit.access(), lazyKeys(make)),
    accepted("J92", `${title}: the second`, (kit) => byOther(kit), lazyKeys(make)),
  ]),
  refused("J92", "one PEM: another key", byOther, lazyKeys(PEM)),
]
