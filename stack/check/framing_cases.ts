import { type CheckCase, leak } from "./check_case.ts"
import type { CheckedGateway } from "./checked_gateway.ts"
import { OTHER_REFUSALS } from "./path_cases.ts"
import type { ReasonName } from "./reasons.ts"

const HOST = "Host: $host\r\n"
const CLOSE = "Connection: close\r\n"

/**
 * Right answers to a head that is too large. A server that refuses before it has read it all may close the connection on
 * what is still being sent, and the network may then drop the answer: `closed` is a refusal as well.
 */
const TOO_LARGE = ["431", "400", "413", "414", "closed"]

type Row = readonly [
  name: string,
  reason: ReasonName,
  expect: ReadonlyArray<string>,
  rest: string,
  more?: Partial<CheckCase>,
]

/** What the upstream may see of a line that a right reader drops, refuses or mends. */
const unseen =
  (allowed: RegExp): NonNullable<CheckCase["received"]> =>
  ({ headers }) => {
    const line = headers.find(([name, value]) => name.trim() === "x-a" && !allowed.test(value))
    return line === undefined ? undefined : leak(`the upstream received ${line[0]}: ${line[1].slice(0, 60)}`)
  }

/** The upstream must not be left to choose between two ways to find the end of a body. */
const framedOnce: NonNullable<CheckCase["received"]> = ({ headers }) => {
  const names = headers.map(([name]) => name)
  return names.includes("content-length") && names.includes("transfer-encoding")
    ? leak("the upstream received a length and chunks together")
    : undefined
}

/** Requests two servers could cut apart differently (cases 29, 31, 32, 48). */
const rowsOf = (hiddenTarget: string): ReadonlyArray<Row> => {
  const second = `GET ${hiddenTarget} HTTP/1.1\r\n${HOST}${CLOSE}\r\n`
  const chunks = "0\r\n\r\n"
  return [
    ["two Host headers", "host", ["400"], `${HOST}Host: evil.example\r\n${CLOSE}\r\n`],
    ["no Host header", "host", ["400"], `${CLOSE}\r\n`, { harmless: true }],
    [
      "length and chunks together",
      "smuggling",
      ["400"],
      `${HOST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}${second}`,
      // A server may go by the chunks alone, if it closes the connection (RFC 9112 section 6.1).
      { hides: ["200"], received: framedOnce },
    ],
    [
      "two lengths",
      "smuggling",
      ["400"],
      `${HOST}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd${second}`,
      { hides: [] },
    ],
    [
      "unknown transfer coding",
      "smuggling",
      ["400", "400 400", "501"],
      `${HOST}Transfer-Encoding: xchunked\r\n\r\n${chunks}${second}`,
      { hides: [] },
    ],
    [
      "chunked, identity",
      "smuggling",
      ["400", "501"],
      `${HOST}Transfer-Encoding: chunked, identity\r\n\r\n${chunks}${second}`,
      { hides: [] },
    ],
    [
      "broken chunk size",
      "smuggling",
      ["400"],
      `${HOST}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n${second}`,
      { hides: [] },
    ],
    [
      "folded header line",
      "header-syntax",
      ["400", "200"],
      `${HOST}X-A: b\r\n c\r\n${CLOSE}\r\n`,
      { needsEcho: true, received: unseen(/^b +c$/) },
    ],
    [
      "blank before the colon",
      "header-syntax",
      ["400", "200"],
      `${HOST}X-A : b\r\n${CLOSE}\r\n`,
      { needsEcho: true, received: unseen(/^$/) },
    ],
    ["header of 1 MB", "size", TOO_LARGE, `${HOST}X-A: ${"a".repeat(1_000_000)}\r\n${CLOSE}\r\n`, { harmless: true }],
    [
      "cookie of 1 MB",
      "size",
      TOO_LARGE,
      `${HOST}Cookie: a=${"a".repeat(1_000_000)}\r\n${CLOSE}\r\n`,
      { harmless: true },
    ],
    [
      "Upgrade: h2c",
      "upgrade",
      ["200"],
      `${HOST}Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
    ],
  ]
}

/** How the gateway reads HTTP itself; asked of a path that is open, so that only the form of the request is judged. */
export const framingCases = ({ isStack, open, secret }: CheckedGateway): ReadonlyArray<CheckCase> => [
  ...(open === undefined
    ? []
    : rowsOf(secret ?? open).map(
        ([name, reason, expect, rawRest, more]): CheckCase => ({
          group: "protocol",
          name,
          reason,
          method: more?.hides === undefined ? "GET" : "POST",
          target: open,
          rawRest,
          expect,
          ...more,
        }),
      )),
  ...(open === undefined
    ? []
    : ([
        {
          group: "protocol",
          name: "10,000 query parameters",
          reason: "size",
          target: `${open}?${"a=1&".repeat(10_000)}`,
          expect: TOO_LARGE,
          harmless: true,
        },
      ] as const)),
  {
    group: "protocol",
    name: "CONNECT",
    reason: "method",
    method: "CONNECT",
    target: "upstream:80",
    expect: ["405", "400", "closed", ...(isStack ? [] : [...OTHER_REFUSALS, "501"])],
    ...(isStack ? {} : { expectation: "a refusal" }),
  },
  ...(isStack
    ? ([
        {
          group: "protocol",
          name: "OPTIONS *",
          reason: "bad-target",
          method: "OPTIONS",
          target: "*",
          expect: ["400", "404"],
        },
      ] as const)
    : []),
]

/**
 * Two requests on one connection, the second for the refused path. Asked last: a server that closes may still be asking its
 * upstream, and that hit must not be taken for another row's.
 */
export const pipelinedCases = ({ isStack, open, secret }: CheckedGateway): ReadonlyArray<CheckCase> =>
  open === undefined || secret === undefined
    ? []
    : [
        {
          group: "protocol",
          name: "allowed and secret on one connection",
          reason: "smuggling",
          target: open,
          rawRest: `${HOST}\r\nGET ${secret} HTTP/1.1\r\n${HOST}${CLOSE}\r\n`,
          // A server may close a connection rather than pipeline (RFC 9112 section 9.3.2); it must not answer both alike.
          expect: ["200 403", "200", "closed", ...(isStack ? [] : OTHER_REFUSALS.map((status) => `200 ${status}`))],
          expectation: "200 and then a refusal, or the connection closed",
          pipelines: true,
        },
      ]
