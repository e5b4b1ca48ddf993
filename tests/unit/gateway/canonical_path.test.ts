import { deepEqual, equal, ok } from "node:assert/strict"
import { describe, test } from "node:test"
import fc from "fast-check"
import { canonicalTarget, isUnder } from "../../../domain/gateway/canonical_path.ts"

const target = fc
  .array(
    fc.constantFrom(
      "/",
      "a",
      ".",
      "..",
      "%2e",
      "%2F",
      "%5c",
      "\\",
      ";",
      "%61",
      "%c3%a9",
      "%25",
      "41",
      "%c0",
      "?",
      "#",
      "|",
      " ",
      "é",
      "%0a",
    ),
    { maxLength: 12 },
  )
  .map((parts) => `/${parts.join("")}`)

describe("canonicalTarget()", () => {
  for (const [raw, path, query] of [
    ["/", "/", undefined],
    ["/a/b", "/a/b", undefined],
    ["/%61%2D%5f%7e", "/a-_~", undefined],
    ["/%c3%a9", "/%C3%A9", undefined],
    ["/a%20b", "/a%20b", undefined],
    ["/a%25", "/a%25", undefined],
    ["/a;b=c", "/a;b=c", undefined],
    ["/.well-known/x", "/.well-known/x", undefined],
    ["/a?", "/a", ""],
    ["/a?b=/../c?d", "/a", "b=/../c?d"],
    ["http://evil.example/a", "/a", undefined],
    ["HTTP://evil.example", "/", undefined],
    ["http://evil.example?x", "/", "x"],
  ] as const)
    test(`${raw} is ${path}`, () => {
      deepEqual(canonicalTarget(raw), { path, query })
    })

  for (const raw of [
    "/a/../b",
    "/..",
    "/./a",
    "/a/.",
    "/a/%2e%2E/b",
    "/a/..;x/b",
    "/a/..%3bx",
    "/a%2fb",
    "/a%5Cb",
    "/a\\b",
    "//a",
    "/a//b",
    "/%252e",
    "/%25%32e",
    "//h/../a",
  ])
    test(`${raw} is ambiguous`, () => {
      equal(canonicalTarget(raw), "ambiguous")
    })

  for (const raw of [
    "",
    "*",
    "a",
    "host:80",
    "ftp://h/a",
    "/a#b",
    "/%",
    "/%zz",
    "/%c0%ae",
    "/%00",
    "/%0d%0a",
    "/%7f",
    "/é",
    "/a b",
    "/{a}",
    "/|",
    "/a?b c",
    "/a?é",
    "/a?b#c",
  ])
    test(`${JSON.stringify(raw)} is malformed`, () => {
      equal(canonicalTarget(raw), "malformed")
    })

  test("a canonical path is its own canonical path, and no reader can resolve or decode anything in it", () => {
    fc.assert(
      fc.property(target, (raw) => {
        const read = canonicalTarget(raw)
        if (typeof read === "string") return
        deepEqual(canonicalTarget(read.path), { path: read.path, query: undefined })
        ok(!/\/\/|\\|%2f|%5c|(^|\/)\.{1,2}(\/|;|$)/i.test(read.path), read.path)
        equal(new URL(read.path, "http://h").pathname, read.path)
      }),
      { numRuns: 3000 },
    )
  })
})

describe("isUnder()", () => {
  for (const [path, prefix, under] of [
    ["/api", "/api", true],
    ["/api/", "/api", true],
    ["/api/x", "/api", true],
    ["/apix", "/api", false],
    ["/api-access", "/api", false],
    ["/ap", "/api", false],
    ["/x", "/", true],
  ] as const)
    test(`${path} ${under ? "is" : "is not"} under ${prefix}`, () => {
      equal(isUnder(path, prefix), under)
    })
})
