// Requests in one piece on one connection: answered in order, each judged for itself. Gateway notes section 3, case 32.
import { afterEach, describe, expect, test } from "bun:test"
import { valuesOf } from "./http_messages.ts"
import { answering, closeAll, GET, gatewayBefore, ok, type Peer, rawUpstream } from "./raw_peer.ts"

afterEach(closeAll)

const SECRET = GET.replace("/open/allowed", "/open/secret")
const numbered = (at: number): string => GET.replace("/open/allowed", `/open/allowed/${at}`)

/** Statuses of so many answers; fails when there are more. */
const statuses = async (peer: Peer, count: number): Promise<ReadonlyArray<number>> => {
  await peer.message(count - 1)
  // Whoever answers once more does so before what is asked now.
  await peer.send(SECRET.replace("Host: h", "Host: h\r\nConnection: close"))
  await peer.untilClosed()
  const messages = peer.messages()
  expect([messages.length, messages.at(-1)?.status]).toEqual([count + 1, 403])
  return messages.slice(0, count).map(({ status }) => status)
}

const TEN = Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? 200 : 403))

describe("in one piece", () => {
  test("an allowed and a secret path: 200, then 403, and the upstream is asked once", async () => {
    const { client, hits } = await gatewayBefore(undefined)
    const before = await hits()
    const peer = await client()
    await peer.send(GET + SECRET)
    expect(await statuses(peer, 2)).toEqual([200, 403])
    expect((await hits()) - before).toBe(1)
  })

  test("a secret path before an allowed one: 403, then 200, and the upstream is asked once", async () => {
    const { client, hits } = await gatewayBefore(undefined)
    const before = await hits()
    const peer = await client()
    await peer.send(SECRET + GET)
    expect(await statuses(peer, 2)).toEqual([403, 200])
    expect((await hits()) - before).toBe(1)
  })

  test("ten in turn, and the upstream is asked five times", async () => {
    const { client, hits } = await gatewayBefore(undefined)
    const before = await hits()
    const peer = await client()
    await peer.send((GET + SECRET).repeat(5))
    expect(await statuses(peer, 10)).toEqual(TEN)
    expect((await hits()) - before).toBe(5)
  })

  test.each([
    ["one allowed and one secret", 2],
    ["ten in turn", 10],
  ])("%s, while the upstream takes its time for the first", async (_name, count) => {
    const upstream = await rawUpstream(async (peer, at) => {
      await peer.message(0)
      if (at === 0) await Bun.sleep(50)
      await answering(ok("done"))(peer)
    })
    const { client } = await gatewayBefore(upstream)
    const peer = await client()
    await peer.send((GET + SECRET).repeat(count / 2))
    expect(await statuses(peer, count)).toEqual(TEN.slice(0, count))
    expect(upstream.requests()).toHaveLength(count / 2)
  })

  test("each is answered with its own answer, whole or streamed", async () => {
    const upstream = await rawUpstream(async (peer) => {
      for (let at = 0; ; at++) {
        const path = (await peer.message(at)).start.split(" ")[1] ?? ""
        const number = Number(path.split("/")[2])
        if (number % 3 === 0) await peer.send(ok(path))
        else if (number % 3 === 1) await peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\n\r\n`, path)
        else
          await peer.send(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            `${path.length.toString(16)}\r\n${path}\r\n`,
            "0\r\n\r\n",
          )
      }
    })
    const { client } = await gatewayBefore(upstream)
    const peer = await client()
    const numbers = Array.from({ length: 30 }, (_, at) => at)
    await peer.send(numbers.map(numbered).join(""))
    expect(await statuses(peer, 30)).toEqual(numbers.map(() => 200))
    const bodies = peer.messages().slice(0, 30)
    expect(bodies.map(({ body }) => body.toString())).toEqual(numbers.map((at) => `/allowed/${at}`))
    expect(upstream.requests().map(({ start }) => start)).toEqual(numbers.map((at) => `GET /allowed/${at} HTTP/1.1`))
  })
})

test("requests cut anywhere are the same requests", async () => {
  const { client, hits } = await gatewayBefore(undefined)
  const text = (GET + SECRET).repeat(2)
  for (const size of [1, 7, GET.length - 1, GET.length + 1]) {
    const before = await hits()
    const peer = await client()
    await peer.send(
      ...Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size).slice(0, size)),
    )
    expect(await statuses(peer, 4)).toEqual([200, 403, 200, 403])
    expect((await hits()) - before).toBe(2)
  }
})

test("an answer that breaks off takes the answers after it along", async () => {
  const upstream = await rawUpstream(async (peer) => {
    await peer.message(0)
    await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", "begin")
    peer.socket.end()
  })
  const { client } = await gatewayBefore(upstream)
  const peer = await client()
  await peer.send(GET + SECRET)
  await peer.untilClosed()
  const [answer, ...more] = peer.messages()
  expect([answer?.status, answer?.complete, more]).toEqual([200, false, []])
  expect(answer === undefined ? [] : valuesOf(answer, "content-length")).toEqual(["1000"])
})
