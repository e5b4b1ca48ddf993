import { afterAll, beforeAll, expect, test } from "bun:test"
import fc from "fast-check"
import { canonicalTarget } from "../../domain/gateway/canonical_path.ts"
import { sendRaw } from "../../stack/check/raw_http.ts"
import { type RunningStack, STACK_TEST_MS, startStack, upstreamHits } from "./running_stack.ts"

const TARGETS = 10_000
/** Requests on one connection; a connection for each would take minutes. */
const PIPELINE = 20

let stack: RunningStack

beforeAll(async () => {
  stack = await startStack()
}, STACK_TEST_MS)
afterAll(() => stack.stop(), STACK_TEST_MS)

const PIECES = [
  "/",
  "//",
  "/.",
  "/..",
  "/...",
  "allowed",
  "secret",
  "open",
  "x",
  ".",
  "..",
  "%2e",
  "%2E%2e",
  "%2f",
  "%5c",
  "\\",
  ";",
  ";x=1",
  "%3b",
  "%25",
  "%252e",
  "%61",
  "%41llowed",
  "%c3%a9",
  "%c0%ae",
  "%zz",
  "%",
  "+",
  "~",
  "@",
  ":",
  "*",
  "'",
  "(",
  "!",
  "$",
  "&",
  "=",
  ",",
  "Allowed",
  "%20",
  "%7e",
  "%7E",
  "%2a",
  "|",
  "^",
  "`",
  "{",
  '"',
  "<",
  ">",
  "#",
  "[",
  "]",
]

const target = fc
  .tuple(
    fc.constantFrom(
      "/open/allowed",
      "/open",
      "/open/",
      "//open//allowed",
      "/open/%61llowed",
      "/",
      "http://evil.example/open/allowed",
    ),
    fc.array(fc.constantFrom(...PIECES), { maxLength: 6 }),
    fc.constantFrom("", "", "?", "?a=b", "?../secret", "?a=%2e%2e&b=/"),
  )
  .map(([start, middle, query]) => start + middle.join("") + query)

interface Received {
  readonly path: string
}

let letThrough = 0

/** Answers of pipelined requests, in order. */
const askMany = async (
  targets: ReadonlyArray<string>,
): Promise<ReadonlyArray<readonly [status: string, body: string]>> => {
  const bytes = targets
    .map(
      (each, at) =>
        `GET ${each} HTTP/1.1\r\nHost: a.example\r\n${at === targets.length - 1 ? "Connection: close\r\n" : ""}\r\n`,
    )
    .join("")
  const { answers } = await sendRaw(stack.state.urls.proxy, bytes)
  letThrough += answers.filter(({ status }) => status === "200").length
  return answers.map(({ status, body }) => [status, body] as const)
}

test(
  `of ${TARGETS} request targets, what is let through is the path that was judged`,
  async () => {
    // A target the HTTP parser itself refuses ends the connection, so only what it lets to the policy shares one.
    const generated = fc.sample(target, { numRuns: TARGETS, seed: 20_261_121 })
    const before = await upstreamHits(stack.state)
    let passed = 0
    for (let at = 0; at < generated.length; at += PIPELINE) {
      const batch = generated.slice(at, at + PIPELINE)
      let answers = await askMany(batch)
      if (answers.length !== batch.length) {
        const single: Array<readonly [string, string]> = []
        for (const each of batch) single.push((await askMany([each]))[0] ?? ["closed", ""])
        answers = single
      }
      for (const [index, [status, body]] of answers.entries()) {
        const raw = batch[index] ?? ""
        const judged = canonicalTarget(raw)
        if (status !== "200") continue
        passed++
        if (typeof judged === "string") throw new Error(`${raw} was let through though it is ${judged}`)
        expect(judged.path).toMatch(/^\/open\/allowed(\/|$)/)
        const received = JSON.parse(body) as Received
        const rest = judged.path.slice("/open".length)
        expect([raw, received.path]).toEqual([raw, judged.query === undefined ? rest : `${rest}?${judged.query}`])
      }
    }
    expect(passed).toBeGreaterThan(TARGETS / 50)
    // Nothing but what was answered 200 reached the upstream.
    expect((await upstreamHits(stack.state)) - before).toBe(letThrough)
  },
  STACK_TEST_MS * 2,
)
