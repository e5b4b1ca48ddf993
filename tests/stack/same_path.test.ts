import { afterAll, expect, test } from "bun:test"
import fc from "fast-check"
import { canonicalTarget } from "../../domain/gateway/canonical_path.ts"
import { sendRaw } from "../../stack/check/raw_http.ts"
import { startLocalGateway } from "./local_gateway.ts"

const TARGETS = 4_000
const AT_ONCE = 16

const gateway = await startLocalGateway({})
afterAll(() => gateway.stop())

const PIECES = [
  "`",
  ...String.raw`/ // /. /.. /... allowed secret open x . .. %2e %2E%2e %2f %5c \ ; ;x=1 %3b %25 %252e %61 %41llowed %c3%a9 %c0%ae %zz % + ~ @ : * ' ( ! $ & = , Allowed %20 %7e %7E %2a | ^ { " < > # [ ]`.split(
    " ",
  ),
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

const ask = async (each: string): Promise<readonly [raw: string, status: string, body: string]> => {
  const bytes = `GET ${each} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`
  const { statuses, body } = await sendRaw(gateway.url, bytes)
  return [each, statuses, body]
}

test(`of ${TARGETS} request targets, what is let through is the path that was judged`, async () => {
  const generated = fc.sample(target, { numRuns: TARGETS, seed: 20_261_121 })
  const before = await gateway.hits()
  let passed = 0
  for (let at = 0; at < generated.length; at += AT_ONCE)
    for (const [raw, status, body] of await Promise.all(generated.slice(at, at + AT_ONCE).map(ask))) {
      if (status !== "200") continue
      passed++
      const judged = canonicalTarget(raw)
      if (typeof judged === "string") throw new Error(`${raw} was let through though it is ${judged}`)
      expect(judged.path).toMatch(/^\/open\/allowed(\/|$)/)
      const received = JSON.parse(body) as Received
      const rest = judged.path.slice("/open".length)
      expect([raw, received.path]).toEqual([raw, judged.query === undefined ? rest : `${rest}?${judged.query}`])
    }
  expect(passed).toBeGreaterThan(TARGETS / 50)
  // Nothing but what was answered 200 reached the upstream.
  expect((await gateway.hits()) - before).toBe(passed)
})
