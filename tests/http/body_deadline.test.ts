// A body that keeps coming, but never to an end.
import { deepEqual, equal } from "node:assert/strict"
import { describe, test } from "node:test"
import { Effect } from "effect"
import { readJson } from "../../adapters/driving/http/json_body.ts"
import { describe as problemOf } from "../../adapters/driving/http/problem.ts"

const drip = (headers: Record<string, string>) => {
  const seen = { cancelled: false }
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (!seen.cancelled) controller.enqueue(new Uint8Array([0x20]))
      return new Promise<void>(() => {})
    },
    cancel: () => {
      seen.cancelled = true
    },
  })
  const request = new Request("http://localhost/api/products", {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
    duplex: "half",
  } as RequestInit)
  return { request, seen }
}

const DEADLINE_MS = 20

describe("the deadline of a body", () => {
  for (const headers of [{}, { "content-length": "1000" }])
    test(`${JSON.stringify(headers)}: 408 once it has passed, and the connection is closed`, async () => {
      const startedAt = performance.now()
      const refusal = await Effect.runPromise(Effect.flip(readJson(drip(headers).request, JSON.parse, DEADLINE_MS)))
      equal(refusal.code, "REQUEST_TIMEOUT")
      deepEqual(problemOf(refusal).headers, { connection: "close" })
      equal(performance.now() - startedAt >= DEADLINE_MS - 1, true)
    })
})
