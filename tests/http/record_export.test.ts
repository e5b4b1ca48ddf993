// A whole collection as lines, over a real socket: complete, resumable, no faster than it is read, and visibly broken when it is.
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { Context, Effect, Layer } from "effect"
import * as memoryRecords from "../../adapters/driven/record_repository/memory.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { dataOf } from "../support/data_of.ts"
import { expectProblem, expectRefusal } from "../support/expect_problem.ts"
import { sharedService, startService } from "../support/test_service.ts"

// A service on a real socket, on a machine under heavy load.
setDefaultTimeout(60_000)

const RECORDS = 2500

/** The memory store with `count` records, whose list fails from the call of this number on. */
const filled = (count: number, failsFrom = Number.POSITIVE_INFINITY) => {
  let lists = 0
  const layer = Layer.effect(
    RecordRepository,
    Effect.gen(function* () {
      const repository = Context.get(yield* Layer.build(memoryRecords.layer), RecordRepository)
      const one = { name: "x".repeat(200), price: 1 }
      for (let left = count; left > 0; left -= 1000)
        yield* Effect.orDie(repository.createAll("products", Array(Math.min(left, 1000)).fill(one)))
      return RecordRepository.of({
        ...repository,
        list: (collection, query) =>
          Effect.suspend(() =>
            ++lists >= failsFrom
              ? Effect.fail(new StoreUnavailable({ store: { user: "u", host: "h", database: "d" }, reason: "gone" }))
              : repository.list(collection, query),
          ),
      })
    }),
  )
  return { layer, lists: () => lists }
}

const service = await sharedService({ repository: filled(RECORDS).layer })

const linesOf = (text: string): ReadonlyArray<{ readonly id: number }> =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

describe("export", () => {
  test("gives every record once, in order, one a line", async () => {
    const response = await service.send("/api/products/export")
    expect(response.status).toBe(200)
    expect(response.headers.get("content-type")).toBe("application/x-ndjson")
    expect(response.headers.get("x-request-id")).not.toBeNull()
    const text = await response.text()
    expect(text.endsWith("\n")).toBe(true)
    const lines = linesOf(text)
    expect(lines.map(({ id }) => id)).toEqual(Array.from({ length: RECORDS }, (_, at) => at + 1))
    expect(lines[0]).toEqual(await dataOf<{ id: number }>(await service.send("/api/products/1")))
  })

  test.each([
    ["?after=0", 1, RECORDS],
    ["?after=1000", 1001, RECORDS - 1000],
    ["?after=2499", 2500, 1],
  ])("%s goes on after that id", async (query, first, count) => {
    const lines = linesOf(await (await service.send(`/api/products/export${query}`)).text())
    expect([lines[0]?.id, lines.length]).toEqual([first, count])
  })

  test.each(["?after=2500", "?after=9007199254740991"])("%s gives nothing", async (query) => {
    const response = await service.send(`/api/products/export${query}`)
    expect([response.status, await response.text()]).toEqual([200, ""])
  })

  test.each(["", "-1", "1.5", "01", "1e3", "9007199254740992", "a", "%00", "1&after=2"])(
    "refuses after=%s",
    async (after) => {
      const send = () => service.send(`/api/products/export?after=${after}`)
      expect((await expectRefusal(service, send, 400, "INVALID_QUERY")).detail).toContain("'after'")
    },
  )

  test("names an unknown parameter, and no value", async () => {
    const send = () => service.send("/api/products/export?limit=secret")
    const problem = await expectRefusal(service, send, 400, "INVALID_QUERY")
    expect(problem.detail).toBe("Query parameter 'limit' is unknown")
  })

  test("answers HEAD, and other methods with 405", async () => {
    const head = await service.send("/api/products/export", { method: "HEAD" })
    expect([head.status, await head.text()]).toEqual([200, ""])
    for (const method of ["POST", "PUT", "DELETE"]) {
      const response = await service.send("/api/products/export", { method })
      expect(response.headers.get("allow")).toBe("GET, HEAD")
      await expectProblem(response, 405, "METHOD_NOT_ALLOWED")
    }
  })

  test("needs a token", async () => {
    const headers = { authorization: "Bearer no" }
    const send = () => service.send("/api/products/export", { headers })
    await expectRefusal(service, send, 401, "UNAUTHENTICATED")
  })
})

test("a store that is away before the first line is a problem", async () => {
  const away = await startService({ repository: filled(10, 1).layer })
  await expectProblem(await away.send("/api/products/export"), 503, "STORE_UNAVAILABLE")
  await away.stop()
})

test("a store that fails in the midst breaks the connection, after whole lines", async () => {
  const failing = await startService({ repository: filled(RECORDS, 3).layer })
  const response = await failing.send("/api/products/export")
  expect(response.status).toBe(200)
  const decoder = new TextDecoder()
  let text = ""
  const read = async () => {
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true })
  }
  await expect(read()).rejects.toThrow()
  expect(text === "" || text.endsWith("}\n")).toBe(true)
  expect(failing.log()).toContain("A stream ended")
  await failing.stop()
})

test("no more is read from the store than the client takes", async () => {
  const many = filled(60_000)
  const slow = await startService({ repository: many.layer })
  const response = await slow.send("/api/products/export")
  const reader = response.body?.getReader()
  let bytes = (await reader?.read())?.value?.length ?? 0
  let before = -1
  while (many.lists() !== before) {
    before = many.lists()
    await Bun.sleep(300)
  }
  // 60 pages are 15 MB; the sockets and what lies ready take some of them.
  expect(before).toBeLessThan(50)
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done) break
    bytes += value?.length ?? 0
  }
  expect(bytes).toBeGreaterThan(60_000 * 200)
  expect(many.lists()).toBe(61)
  await slow.stop()
})
