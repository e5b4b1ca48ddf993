import { deepEqual, equal, ok } from "node:assert/strict"
import { describe, test } from "node:test"
import fc from "fast-check"
import { isSecretParameter, MASK, makeSecretMask } from "../../domain/secret_mask.ts"

const hex = (text: string) => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())

const numbered = (text: string) =>
  text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)

const SPELLINGS: Readonly<Record<string, (secret: string) => string>> = {
  "as it is": (secret) => secret,
  "percent-encoded": encodeURIComponent,
  "percent-encoded in small letters": (secret) => hex(encodeURIComponent(secret)),
  "percent-encoded byte by byte": (secret) =>
    [...Buffer.from(secret)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
  "percent-encoded twice": (secret) => encodeURIComponent(encodeURIComponent(secret)),
  "percent-encoded twice in small letters": (secret) => encodeURIComponent(hex(encodeURIComponent(secret))),
  "in a form": (secret) => new URLSearchParams({ a: secret }).toString().slice(2),
  "in JSON": (secret) => JSON.stringify(secret).slice(1, -1),
  "in JSON within JSON": (secret) => JSON.stringify(JSON.stringify(secret)).slice(3, -3),
  "in JSON with escaped slashes": (secret) => JSON.stringify(secret).slice(1, -1).replaceAll("/", "\\/"),
  "in ASCII JSON": (secret) =>
    JSON.stringify(secret)
      .slice(1, -1)
      .replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  "in HTML": (secret) => secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;"),
  "in HTML by numbers": (secret) => secret.replaceAll("&", "&#38;").replaceAll("'", "&#x27;").replaceAll("<", "&#60;"),
  "as numbers of JSON": (secret) => numbered(secret),
  "as numbers of JSON within JSON": (secret) => numbered(secret).replaceAll("\\", "\\\\"),
  "as hexadecimal digits": (secret) => Buffer.from(secret).toString("hex"),
  "as large hexadecimal digits": (secret) => Buffer.from(secret).toString("hex").toUpperCase(),
  "in base64, percent-encoded": (secret) => encodeURIComponent(Buffer.from(secret).toString("base64")),
  "in base64, in JSON with escaped slashes": (secret) => Buffer.from(secret).toString("base64").replaceAll("/", "\\/"),
  "in base64": (secret) => Buffer.from(secret).toString("base64"),
  "in base64url": (secret) => Buffer.from(secret).toString("base64url"),
}

/** Any text, and often one of the characters that have many spellings. */
const secrets = fc
  .oneof(
    fc.string({ unit: "binary", minLength: 4, maxLength: 40 }),
    fc.string({ unit: fc.constantFrom(..."ab1 %25+/\\\"'<>&|=;:@\n_é€😀"), minLength: 4, maxLength: 40 }),
  )
  .filter((secret) => secret.isWellFormed() && !`before ${MASK} after`.includes(secret))

describe("a known secret", () => {
  for (const [how, spell] of Object.entries(SPELLINGS))
    test(`is not shown ${how}`, () => {
      fc.assert(
        fc.property(secrets, (secret) => {
          const spelling = spell(secret)
          const masked = makeSecretMask([secret]).text(`before ${spelling} after`)
          ok(!masked.includes(spelling), masked)
          ok(!masked.includes(secret), masked)
          ok(masked.startsWith("before ") && masked.endsWith(" after"), masked)
        }),
      )
    })

  for (const alphabet of ["base64", "base64url"] as const)
    test(`of 11 bytes or more is not shown inside of more ${alphabet}`, () => {
      fc.assert(
        fc.property(secrets, fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 }), (secret, before, after) => {
          fc.pre(Buffer.byteLength(secret) >= 11)
          const given = Buffer.from(before + secret + after).toString(alphabet)
          const shown = makeSecretMask([secret]).text(given)
          ok(shown.includes(MASK), shown)
          // What is left beside the mask are the neighbours, and at most a byte of the secret on either side.
          const left = shown.split(MASK).map((piece) => piece.length)
          ok(
            left.reduce((sum, length) => sum + length, 0) <= Math.ceil(((before + after).length * 4 * 4) / 3) + 8,
            shown,
          )
        }),
      )
    })

  test("that begins with another one is masked whole", () => {
    equal(makeSecretMask(["abcd", "abcdefgh"]).text("it is abcdefgh."), `it is ${MASK}.`)
  })

  test("taken from an address is masked as it was meant, too", () => {
    equal(makeSecretMask(["a%2Bb%3Dcd"]).text("signature a+b=cd is wrong"), `signature ${MASK} is wrong`)
  })

  test("below four characters would mask ordinary words, so it is left", () => {
    equal(makeSecretMask(["a", "", "not"]).text("a cat is not a dog"), "a cat is not a dog")
  })
})

describe("an unknown secret", () => {
  const { text, fields } = makeSecretMask([])

  for (const given of [
    "access_token=S3CR3T&a=1",
    '{"client_secret":"S3CR3T"}',
    '{"client_secret": "with \\" quote S3CR3T"}',
    '{"set-cookie":["a=1","S3CR3T"]}',
    JSON.stringify({ body: '{"password":"S3CR3T"}' }),
    "Authorization: Bearer S3CR3T",
    "cookie: a=b; c=S3CR3T",
    "X-Nomad-Token: S3CR3T",
    "SCHEDULER_TOKEN=S3CR3T",
    "GET /callback?code=S3CR3T&state=S3CR3T",
    "redirect=https%3A%2F%2Fa.example%2F%3Fcode%3DS3CR3T",
    `access_token=${MASK}&client_secret=${MASK}S3CR3T`,
    "https://u:S3CR3T@cdn.example.com/a",
    "mongodb://u:S3C@R3T@host:1/db",
    "https%3A%2F%2Fu:S3CR3T@cdn.example.com",
    "a token eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJTM0NSM1QifQ.S3CR3T.",
  ])
    test(`is not shown in ${given}`, () => {
      const masked = text(given)
      ok(!/S3C|R3T|eyJ/.test(masked), masked)
      ok(masked.includes(MASK))
    })

  for (const given of [
    "Malformed access token",
    "Error validating access token: Session has expired on Monday",
    '{"code":"EXCHANGE_FAILED","state":"running","tokens":3}',
    "10:00:00.000 INFO  Restart is over code=NO_LEADER",
    "Cannot use the store as user 'catalogue' at '127.0.0.1:1', database 'charts'",
    "https://cdn.example.com/a.jpg?width=100",
  ])
    test(`is not seen in ${given}`, () => equal(text(given), given))

  test("is not shown in fields of its name, nor in an environment", () => {
    deepEqual(
      fields({
        Name: "web",
        Count: 3,
        "x-nomad-token": "S3CR3T",
        Tasks: [{ Env: { A: "S3CR3T", B: "" }, Templates: [{ EmbeddedTmpl: "S3CR3T" }], Url: "http://u:p@h" }],
        password: "",
        token: { id: 1 },
        size: 2n,
      }),
      {
        Name: "web",
        Count: 3,
        "x-nomad-token": MASK,
        Tasks: [{ Env: { A: MASK, B: MASK }, Templates: [{ EmbeddedTmpl: MASK }], Url: `http://${MASK}@h` }],
        password: "",
        token: MASK,
        size: "2",
      },
    )
  })

  test("is known by the name or the look of a parameter", () => {
    const known = [
      ["X-Amz-Signature", "ab"],
      ["code", "1"],
      ["k", "A1b2C3d4E5f6G7h8I9j0K1l2"],
    ] as const
    for (const [name, value] of known) equal(isSecretParameter(name, value), true, name)
    for (const [name, value] of [
      ["width", "100"],
      ["monkey", "1"],
      ["id", "9"],
    ] as const)
      equal(isSecretParameter(name, value), false, name)
  })

  test("costs time in proportion to the text", { timeout: 120_000 }, () => {
    const mask = makeSecretMask(["a+/%25".repeat(10)])
    // Milliseconds; a search that started over at every character would take minutes.
    for (const piece of 'a=|eyJ|://|token":"|\\"|x-a-|authorization |cookie:|%3D|:@|a+/%'.split("|"))
      mask.text(piece.repeat(300_000 / piece.length))
  })
})
