// A body that arrives while it is read: nothing is asked for ahead, little is kept, and an end that is none is an error.
import { deepEqual, equal, rejects } from "node:assert/strict"
import { Buffer } from "node:buffer"
import { describe, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { IncomingBody } from "../../../adapters/driving/http_server/incoming_body.ts"

const KEPT_MAX = 64 * 1024
const BROKEN = /ended before it was complete/

const setUp = () => {
  const calls: Array<"hold" | "want" | "dropped"> = []
  const body = new IncomingBody({
    hold: () => calls.push("hold"),
    want: () => calls.push("want"),
    dropped: () => calls.push("dropped"),
  })
  return { body, calls }
}

const push = (body: IncomingBody, text: string): void => body.push(Buffer.from(text))

/** Lets everything happen that waits for nobody. */
const settled = () => sleep(0)

const readAll = async (body: IncomingBody): Promise<string> => {
  const pieces: Array<Uint8Array> = []
  for await (const piece of body.stream) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

/** What is used of a stream's reader; runtimes and their types agree on this much. */
interface Reader {
  readonly read: () => Promise<{ readonly value?: Uint8Array | undefined }>
}

const readOne = async (reader: Reader): Promise<string | undefined> => {
  const { value } = await reader.read()
  return value === undefined ? undefined : Buffer.from(value).toString()
}

describe("IncomingBody", () => {
  test("asks for nothing before somebody reads", async () => {
    const { body, calls } = setUp()
    const reader = body.stream.getReader()
    await settled()
    deepEqual(calls, [])
    const read = readOne(reader)
    await settled()
    deepEqual(calls, ["want"])
    push(body, "a")
    equal(await read, "a")
    await settled()
    deepEqual(calls, ["want"])
  })

  test("does not ask for what it has", async () => {
    const { body, calls } = setUp()
    push(body, "a")
    push(body, "b")
    const reader = body.stream.getReader()
    deepEqual([await readOne(reader), await readOne(reader)], ["a", "b"])
    deepEqual(calls, [])
    body.complete()
    equal((await reader.read()).done, true)
    deepEqual(calls, [])
  })

  test("gives what was kept, then what comes, then the end", async () => {
    const { body } = setUp()
    push(body, "ab")
    const all = readAll(body)
    for (const text of ["c", "de", "f"]) {
      await settled()
      push(body, text)
    }
    body.complete()
    equal(await all, "abcdef")
  })

  test("the end alone is an empty body", async () => {
    const { body } = setUp()
    const all = readAll(body)
    await settled()
    body.complete()
    equal(await all, "")
  })

  for (const [bytes, calls] of [
    [KEPT_MAX, []],
    [KEPT_MAX + 1, ["hold"]],
  ] as const)
    test(`with ${bytes} unread bytes the sender ${calls.length > 0 ? "waits" : "goes on"}`, () => {
      const { body, calls: seen } = setUp()
      push(body, "a".repeat(bytes - 10))
      push(body, "a".repeat(10))
      deepEqual(seen, calls)
    })

  test("goes on once what was kept is read, and bytes that were read no longer count", async () => {
    const { body, calls } = setUp()
    const reader = body.stream.getReader()
    for (const round of [1, 2]) {
      push(body, "a".repeat(KEPT_MAX))
      push(body, "b")
      equal(calls.at(-1), "hold")
      equal((await readOne(reader))?.length, KEPT_MAX)
      equal(calls.at(-1), "hold", "asked for more than it was asked for")
      equal(await readOne(reader), "b")
      const next = readOne(reader)
      await settled()
      equal(calls.at(-1), "want")
      push(body, `c${round}`)
      equal(await next, `c${round}`)
    }
    push(body, "a".repeat(KEPT_MAX))
    equal(calls.at(-1), "want")
  })

  test("a reader who waits needs nobody to hold on", async () => {
    const { body, calls } = setUp()
    const reader = body.stream.getReader()
    const read = readOne(reader)
    await settled()
    push(body, "a".repeat(KEPT_MAX + 1))
    equal((await read)?.length, KEPT_MAX + 1)
    deepEqual(calls, ["want"])
  })

  for (const kept of ["", "ab"])
    test(`a body that breaks off gives '${kept}', then an error`, async () => {
      const { body } = setUp()
      if (kept !== "") push(body, kept)
      body.break()
      const reader = body.stream.getReader()
      if (kept !== "") equal(await readOne(reader), kept)
      await rejects(reader.read(), BROKEN)
    })

  test("a reader who waits is told of the break", async () => {
    const { body } = setUp()
    const all = readAll(body)
    await settled()
    body.break()
    await rejects(all, BROKEN)
  })

  test("what is complete cannot break any more", async () => {
    const { body } = setUp()
    push(body, "ab")
    body.complete()
    body.break()
    equal(await readAll(body), "ab")
  })

  test("a reader who gives up lets the rest come, and nothing of it is kept", async () => {
    const { body, calls } = setUp()
    push(body, "a")
    const reader = body.stream.getReader()
    equal(await readOne(reader), "a")
    await reader.cancel()
    deepEqual(calls, ["dropped"])
    for (let sent = 0; sent < 3; sent++) push(body, "b".repeat(KEPT_MAX))
    body.complete()
    deepEqual(calls, ["dropped"])
    equal((await reader.read()).done, true)
  })

  test("a reader who gives up behind the end has nothing to say to a connection that goes on", async () => {
    const { body, calls } = setUp()
    push(body, "a")
    body.complete()
    await body.stream.cancel()
    deepEqual(calls, [])
  })

  for (const end of ["complete", "break"] as const)
    test(`a reader who gives up while waiting is done, also after ${end}()`, async () => {
      const { body, calls } = setUp()
      const reader = body.stream.getReader()
      const read = reader.read()
      await settled()
      await reader.cancel()
      equal((await read).done, true)
      push(body, "a")
      body[end]()
      await settled()
      deepEqual(calls, ["want", "dropped"])
    })

  test("what is dropped is not kept, and its sender is let go on", () => {
    const { body, calls } = setUp()
    push(body, "a".repeat(KEPT_MAX + 1))
    body.drop()
    push(body, "a".repeat(KEPT_MAX + 1))
    deepEqual(calls, ["hold", "dropped"])
  })

  for (const [what, before, after] of [
    ["of which a part was kept", "ab", ""],
    ["of which the rest came later", "", "ab"],
  ] as const)
    test(`a body that was dropped, ${what}, is never read as a whole one`, async () => {
      const { body } = setUp()
      if (before !== "") push(body, before)
      body.drop()
      if (after !== "") push(body, after)
      body.complete()
      await rejects(readAll(body))
    })

  test("a reader who waits for a body that is dropped is told so", async () => {
    const { body } = setUp()
    const all = readAll(body)
    await settled()
    body.drop()
    push(body, "ab")
    body.complete()
    await rejects(all)
  })
})
