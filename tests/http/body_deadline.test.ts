// A body that keeps coming, but never to an end: only a virtual clock can wait for it.
import { deepEqual, equal } from "node:assert/strict"
import { describe } from "node:test"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { BODY_DEADLINE_MS, readJson } from "../../adapters/driving/http/json_body.ts"
import { describe as problemOf } from "../../adapters/driving/http/problem.ts"
import { effectTest } from "../support/effect_test.ts"

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

describe("the deadline of a body", () => {
  for (const headers of [{}, { "content-length": "1000" }])
    effectTest(`${JSON.stringify(headers)}: 408 after ${BODY_DEADLINE_MS} ms, and the connection is closed`, () =>
      Effect.gen(function* () {
        const { request } = drip(headers)
        const fiber = yield* Effect.forkChild(Effect.flip(readJson(request)))
        yield* TestClock.adjust(BODY_DEADLINE_MS - 1)
        equal(fiber.pollUnsafe(), undefined)
        yield* TestClock.adjust(1)
        const refusal = yield* Fiber.join(fiber)
        equal(refusal.code, "REQUEST_TIMEOUT")
        deepEqual(problemOf(refusal).headers, { connection: "close" })
      }),
    )

  effectTest("what is still to come of counted chunks is not read on", () =>
    Effect.gen(function* () {
      const { request, seen } = drip({})
      const fiber = yield* Effect.forkChild(Effect.flip(readJson(request)))
      yield* TestClock.adjust(BODY_DEADLINE_MS)
      yield* Fiber.join(fiber)
      equal(seen.cancelled, true)
    }),
  )
})
