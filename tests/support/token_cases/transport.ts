// J01..J12, J78, J79: where the token stands in the request, and what it looks like before anything is decoded.
import { base64url, withParts } from "../tokens.ts"
import { accepted, refused, type TokenCase } from "./token_case.ts"

const scheme = (text: string) => ({ authorization: [text] })

export const TRANSPORT_CASES: ReadonlyArray<TokenCase> = [
  accepted("J01", "a valid access token", (kit) => kit.access()),
  refused("J02", "no header", () => ({ authorization: [] })),
  refused("J03", "the scheme alone", () => scheme("Bearer")),
  refused("J03", "the scheme and a space", () => scheme("Bearer ")),
  accepted("J04", "lower-case scheme", (kit) => scheme(`bearer ${kit.access()}`)),
  accepted("J04", "upper-case scheme", (kit) => scheme(`BEARER ${kit.access()}`)),
  refused("J05", "Basic", () => scheme("Basic dXNlcjpwYXNz")),
  refused("J05", "DPoP with a good token", (kit) => scheme(`DPoP ${kit.access()}`)),
  refused("J05", "JWT with a good token", (kit) => scheme(`JWT ${kit.access()}`)),
  refused("J05", "a good token without a scheme", (kit) => scheme(kit.access())),
  refused("J05", "the scheme run into the token", (kit) => scheme(`Bearer${kit.access()}`)),
  refused("J06", "two spaces", (kit) => scheme(`Bearer  ${kit.access()}`)),
  refused("J06", "a tab", (kit) => scheme(`Bearer\t${kit.access()}`)),
  refused("J06", "trailing words", (kit) => scheme(`Bearer ${kit.access()} x`)),
  refused("J07", "two headers", (kit) => ({ authorization: [`Bearer ${kit.access()}`, `Bearer ${kit.access()}`] })),
  refused("J07", "a good token, then another scheme", (kit) => ({
    authorization: [`Bearer ${kit.access()}`, "Basic dXNlcjpwYXNz"],
  })),
  refused("J08", "in the query", (kit) => ({ authorization: [], query: `access_token=${kit.access()}` })),
  refused("J09", "in a cookie", (kit) => ({ authorization: [], headers: { cookie: `access_token=${kit.access()}` } })),
  refused("J09", "in the header for a proxy", (kit) => ({
    authorization: [],
    headers: { "proxy-authorization": `Bearer ${kit.access()}` },
  })),
  refused("J09", "in a form body", (kit) => ({
    authorization: [],
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: `access_token=${kit.access()}`,
  })),
  refused("J10", "two parts", (kit) => withParts(kit.access(), ([header, payload]) => [header, payload])),
  refused("J10", "four parts", (kit) => `${kit.access()}.AAAA`),
  refused("J10", "dots alone", () => ".."),
  refused(
    "J11",
    "an encrypted token of five parts",
    () => `${base64url({ alg: "RSA-OAEP", enc: "A256GCM" })}.AA.AA.AA.AA`,
  ),
  refused("J12", "JSON serialisation", (kit) => {
    const [header, payload, signature] = kit.access().split(".")
    return JSON.stringify({ payload, protected: header, signature })
  }),
  accepted("J78", "12 KB of roles", (kit) =>
    kit.access({ realm_access: { roles: Array.from({ length: 340 }, (_, n) => `department-role-number-${n}`) } }),
  ),
  refused("J79", "1 MB", (kit) => kit.access({ padding: "x".repeat(750_000) }), { wire: [400, 413, 431] }),
]
