// J43..J77: what the signed text says.
import { RECORDED } from "../recorded_tokens.ts"
import { base64url, CLIENT, hmacToken, ISSUER, signToken, type TokenKit } from "../tokens.ts"
import { accepted, forbidden, refused, type TokenCase, withClaims, withHeader, withPayload } from "./token_case.ts"

/** Claims given in seconds from the instant of the token. */
const inSeconds = (claims: Readonly<Record<string, number>>) => (kit: TokenKit) =>
  kit.access(Object.fromEntries(Object.entries(claims).map(([name, after]) => [name, kit.now + after])))

const rawExp = (text: string) => withPayload((json) => json.replace(/"exp":\d+/, `"exp":${text}`))

/** Puts a second member of the same name in front of the rest, or behind it. */
const first = (member: string) => withPayload((json) => `{${member},${json.slice(1)}`)
const last = (member: string) => withPayload((json) => `${json.slice(0, -1)},${member}}`)

const rawHeader = (alg: string) => (kit: TokenKit) => signToken(`{${alg},"typ":"JWT"}`, kit.claims)

const TIMES: ReadonlyArray<TokenCase> = [
  refused("J43", "exp a second ago", inSeconds({ exp: -1 })),
  refused("J43", "exp an hour ago", inSeconds({ exp: -3600 })),
  refused("J44", "no exp", withClaims({ exp: undefined })),
  ...["1999999999", null, true, [1999999999]].map((exp) =>
    refused("J45", `exp ${JSON.stringify(exp)}`, withClaims({ exp })),
  ),
  refused("J46", "exp -1", withClaims({ exp: -1 })),
  refused("J46", "exp 0", withClaims({ exp: 0 })),
  accepted("J47", "exp with a fraction", inSeconds({ exp: 300.5 })),
  refused("J48", "exp 1e400", rawExp("1e400")),
  refused("J48", "exp 2^60", rawExp("1152921504606846976")),
  refused("J48", "exp in milliseconds", (kit) => kit.access({ exp: (kit.now + 300) * 1000 })),
  refused("J49", "exp now", inSeconds({ exp: 0 })),
  refused("J50", "nbf in five minutes", inSeconds({ nbf: 300 })),
  accepted("J51", "nbf 0", withClaims({ nbf: 0 })),
  accepted("J51", "no nbf", withClaims({ nbf: undefined })),
  refused("J52", "nbf a text", withClaims({ nbf: "0" })),
  accepted("J53", "iat in five seconds", inSeconds({ iat: 5 })),
  refused("J54", "iat a text", withClaims({ iat: "1" })),
]

const PARTIES: ReadonlyArray<TokenCase> = [
  ...[`${ISSUER}/`, ISSUER.toUpperCase(), ISSUER.replace("demo", "other"), "https://evil.example"].map((iss) =>
    refused("J55", `iss ${iss}`, withClaims({ iss })),
  ),
  refused("J56", "iss an array", withClaims({ iss: [ISSUER] })),
  refused("J56", "no iss", withClaims({ iss: undefined })),
  accepted("J57", "any iss when no issuer is set", withClaims({ iss: "https://evil.example" }), {
    setup: { issuer: undefined },
  }),
  accepted("J67", "aud as a text", withClaims({ aud: "catalogue" }), { setup: { audience: "catalogue" } }),
  accepted("J67", "aud in an array", withClaims({ aud: ["account", "catalogue"] }), {
    setup: { audience: "catalogue" },
  }),
  ...[["account", "catalogue-2"], undefined, "account", { catalogue: true }, "catalogue,account"].map((aud) =>
    refused("J67", `aud ${JSON.stringify(aud) ?? "missing"}`, withClaims({ aud }), {
      setup: { audience: "catalogue" },
    }),
  ),
  refused("J68", "azp another client", withClaims({ azp: "somebody" }), { setup: { authorizedParties: [CLIENT] } }),
  accepted("J68", "azp one of the clients", withClaims({}), { setup: { authorizedParties: ["x", CLIENT] } }),
]

const KINDS: ReadonlyArray<TokenCase> = [
  refused("J59", "an ID token", (kit) => kit.idToken()),
  refused("J59", "an ID token without a typ claim", (kit) => kit.idToken({ typ: undefined })),
  refused("J60", "a refresh token", (kit) => kit.refresh()),
  refused("J60", "a refresh token as a real realm signs it", (kit) =>
    hmacToken(RECORDED.tokens.refresh.header, { ...RECORDED.tokens.refresh.claims, exp: kit.now + 300 }, "its secret"),
  ),
  accepted("J01", "a valid access token of a service client", (kit) =>
    signToken(kit.header, { ...RECORDED.tokens.service.claims, iss: ISSUER, exp: kit.now + 300 }),
  ),
  refused("J60", "an offline token", (kit) => kit.refresh({ typ: "Offline" })),
  refused("J61", "a logout token", (kit) => kit.logout()),
  refused("J61", "a logout token by its header alone", withHeader({ typ: "logout+jwt" })),
  refused("J61", "a logout token by its typ claim alone", withClaims({ typ: "Logout" })),
  refused("J61", "a logout token by its events alone", withClaims({ typ: undefined, events: {} })),
  accepted("J62", "no typ claim", withClaims({ typ: undefined })),
  refused("J62", "no typ claim when one is required", withClaims({ typ: undefined }), { setup: { requireTyp: true } }),
  accepted("J62", "typ bearer", withClaims({ typ: "bearer" }), { setup: { requireTyp: true } }),
  ...["Bearer ", 5, null, ["Bearer"]].map((typ) => refused("J62", `typ ${JSON.stringify(typ)}`, withClaims({ typ }))),
  ...["at+jwt", "application/at+jwt", "JWT", undefined].map((typ) =>
    accepted("J63", `header typ ${typ ?? "absent"}`, withHeader({ typ })),
  ),
  ...["dpop+jwt", "secevent+jwt", "token-introspection+jwt", 5].map((typ) =>
    refused("J64", `header typ ${typ}`, withHeader({ typ })),
  ),
  refused("J65", "typ DPoP", withClaims({ typ: "DPoP" })),
  refused("J65", "bound by cnf.jkt", withClaims({ cnf: { jkt: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" } })),
  refused(
    "J66",
    "bound by cnf.x5t#S256",
    withClaims({ cnf: { "x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2" } }),
  ),
]

const TEXTS: ReadonlyArray<TokenCase> = [
  refused("J69", "exp twice, the last expired", last('"exp":1')),
  accepted("J69", "exp twice, the first expired", first('"exp":1')),
  refused("J69", "iss twice, the last foreign", last('"iss":"https://evil.example"')),
  forbidden("J69", "realm_access twice, the last empty", last('"realm_access":{"roles":[]}'), { roles: ["admin"] }),
  forbidden("J69", "realm_access twice, the first with the role", first('"realm_access":{"roles":["root"]}'), {
    roles: ["root"],
  }),
  refused("J70", "alg twice, the last none", rawHeader('"alg":"RS256","alg":"none"')),
  accepted("J70", "alg twice, the first none", rawHeader('"alg":"none","alg":"RS256"')),
  forbidden("J71", "roles under __proto__", first('"__proto__":{"realm_access":{"roles":["root"]}}'), {
    roles: ["root"],
  }),
  forbidden(
    "J71",
    "roles under __proto__ alone",
    withPayload(
      (_, { now }) => `{"exp":${now + 300},"iss":"${ISSUER}","__proto__":{"realm_access":{"roles":["root"]}}}`,
    ),
    { roles: ["root"] },
  ),
  ...["[]", '"x"', "null", "1", "{", ""].map((text) =>
    refused("J72", `payload ${text || "empty"}`, (kit) => signToken(kit.header, text)),
  ),
  refused("J73", "payload with broken UTF-8", (kit) =>
    signToken(kit.header, Buffer.from(JSON.stringify({ ...kit.claims, x: "\xff" }), "latin1")),
  ),
  refused("J74", "payload with a byte order mark", (kit) =>
    signToken(kit.header, `\uFEFF${JSON.stringify(kit.claims)}`),
  ),
  refused("J74", "header with a byte order mark", (kit) =>
    signToken(`\uFEFF${JSON.stringify(kit.header)}`, kit.claims),
  ),
  ...["{", "[]", '["RS256"]', "null", "RS256"].map((header) =>
    refused("J75", `header ${header}`, (kit) => signToken(header, kit.claims)),
  ),
  refused("J76", "a token inside a token", (kit) => signToken({ ...kit.header, cty: "JWT" }, kit.access())),
  refused("J77", "a compressed payload", withHeader({ zip: "DEF" })),
  refused("J77", "a payload that is a text", (kit) => signToken(kit.header, base64url(kit.claims))),
]

export const CLAIM_CASES: ReadonlyArray<TokenCase> = [...TIMES, ...PARTIES, ...KINDS, ...TEXTS]
