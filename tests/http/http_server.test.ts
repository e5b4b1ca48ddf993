// The server over real sockets: what a connection cannot be told without one.
import { afterEach, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { networkInterfaces } from "node:os"
import type { Answer } from "../../adapters/driving/http_server/answer.ts"
import type { ArrivedRequest } from "../../adapters/driving/http_server/arrived_request.ts"
import { type HttpServer, type HttpServerOptions, serveHttp } from "../../adapters/driving/http_server/http_server.ts"
import { openConnection, rawRequest } from "../support/raw_http.ts"

const MEGABYTE = 1_000_000
const CHUNK_BYTES = 65_536
const CHUNKS = 800
/** Over 50 MB: far more than two sockets keep between them. */
const LONG_BYTES = CHUNKS * CHUNK_BYTES

const servers: Array<HttpServer> = []
afterEach(() => Promise.all(servers.splice(0).map((server) => server.stop())))

const text = (body: string, status = 200): Answer => ({ status, headers: [], body })

const serve = (handle: HttpServerOptions["handle"], options: Partial<HttpServerOptions> = {}) => {
  const server = serveHttp({
    hostname: "127.0.0.1",
    port: 0,
    handle,
    refuse: (refusal) => text(refusal, 400),
    fail: (failure) => text(String(failure), 500),
    idleMs: 60_000,
    headMs: 60_000,
    graceMs: 0,
    ...options,
  })
  servers.push(server)
  return { server, url: `http://127.0.0.1:${server.port}` }
}

const echoTarget = ({ target }: ArrivedRequest): Answer => text(target)

const get = (target: string, ...headers: ReadonlyArray<string>): string =>
  [`GET ${target} HTTP/1.1`, "Host: a", ...headers, "", ""].join("\r\n")

const postHead = (length: number): string => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`

/** A moment, for what happens in the kernel. */
const moment = () => Bun.sleep(20)

/** Waits until something holds. */
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await Bun.sleep(1)
}

/** Waits until a number no longer grows. Were it to wait too little, it would be less, and no test fail for it. */
const atRest = async (count: () => number): Promise<number> => {
  for (let same = 0, last = -1; same < 3; ) {
    await moment()
    same = count() === last ? same + 1 : 0
    last = count()
  }
  return count()
}

/** A body of {@link LONG_BYTES} that counts what it was asked for. */
const longBody = () => {
  const seen = { asked: 0, cancelled: false }
  const chunk = new Uint8Array(CHUNK_BYTES).fill(97)
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        seen.asked += CHUNK_BYTES
        controller.enqueue(chunk)
        if (seen.asked === LONG_BYTES) controller.close()
      },
      cancel: () => {
        seen.cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { body, seen }
}

const open = async (server: HttpServer): Promise<Socket> => {
  const socket = connect({ host: "127.0.0.1", port: server.port, allowHalfOpen: true })
  await once(socket, "connect")
  return socket
}

describe("a body far larger than what sockets keep", () => {
  test("is asked for only as it is taken", async () => {
    const { body, seen } = longBody()
    const { server } = serve(() => ({ status: 200, headers: [["content-length", String(LONG_BYTES)]], body }))
    const socket = await open(server)
    socket.pause()
    socket.write(get("/", "Connection: close"))
    await until(() => seen.asked > 0)
    expect(await atRest(() => seen.asked)).toBeLessThan(LONG_BYTES / 2)
    let received = 0
    socket.on("data", (bytes) => {
      received += bytes.length
    })
    socket.resume()
    await once(socket, "end")
    expect(seen.asked).toBe(LONG_BYTES)
    expect(received).toBeGreaterThan(LONG_BYTES)
    expect(received).toBeLessThan(LONG_BYTES + 1000)
    socket.end()
  })

  test("is given up when its client goes", async () => {
    const { body, seen } = longBody()
    const { server } = serve(() => ({ status: 200, headers: [], body }))
    const socket = await open(server)
    socket.pause()
    socket.write(get("/"))
    await until(() => seen.asked > 0)
    socket.destroy()
    await until(() => seen.cancelled)
    expect(seen.asked).toBeLessThan(LONG_BYTES)
    await until(() => server.connections() === 0)
  })

  test("whole in memory, is sent to the last byte to a client that takes it piece by piece", async () => {
    const bytes = new Uint8Array(20 * MEGABYTE).map((_, at) => at % 251)
    const { server } = serve(() => ({ status: 200, headers: [], body: bytes }))
    const socket = await open(server)
    socket.write(get("/") + get("/", "Connection: close"))
    const pieces: Array<Buffer> = []
    for await (const piece of socket) {
      pieces.push(piece)
      if (pieces.length % 50 === 0) await Bun.sleep(1)
    }
    const received = Buffer.concat(pieces)
    const bodyAt = received.indexOf("\r\n\r\n") + 4
    expect(received.subarray(bodyAt, bodyAt + bytes.length).equals(bytes)).toBe(true)
    expect(received.subarray(-bytes.length).equals(bytes)).toBe(true)
    expect(received.subarray(bodyAt + bytes.length, -bytes.length).toString()).toStartWith("HTTP/1.1 200 OK\r\n")
  })

  test("is let come only as it is read", async () => {
    const read = Promise.withResolvers<void>()
    let readBytes = 0
    const { server } = serve(async ({ body }) => {
      await read.promise
      if (body instanceof ReadableStream) for await (const bytes of body) readBytes += bytes.length
      return text(String(readBytes))
    })
    const socket = await open(server)
    let sent = 0
    const sending = (async () => {
      socket.write(postHead(LONG_BYTES))
      const chunk = new Uint8Array(CHUNK_BYTES)
      for (; sent < LONG_BYTES; sent += CHUNK_BYTES) if (!socket.write(chunk)) await once(socket, "drain")
      socket.end(get("/last", "Connection: close"))
    })()
    await until(() => sent > 0)
    expect(await atRest(() => sent)).toBeLessThan(LONG_BYTES / 2)
    read.resolve()
    await sending
    let received = ""
    for await (const bytes of socket) received += bytes
    expect(readBytes).toBe(LONG_BYTES)
    expect(received).toContain(`\r\n\r\n${LONG_BYTES}HTTP/1.1 200 OK\r\n`)
  })

  test("comes whole though its client closed its half long before it was read", async () => {
    const length = 3 * MEGABYTE
    const read = Promise.withResolvers<void>()
    const { server } = serve(async ({ body }) => {
      await read.promise
      let bytes = 0
      if (body instanceof ReadableStream) for await (const piece of body) bytes += piece.length
      return text(String(bytes))
    })
    const socket = await open(server)
    socket.write(postHead(length))
    socket.end(new Uint8Array(length))
    await until(() => server.connections() === 1)
    await moment()
    read.resolve()
    let received = ""
    for await (const bytes of socket) received += bytes
    expect(received).toStartWith("HTTP/1.1 200 OK\r\n")
    expect(received).toEndWith(`\r\n\r\n${length}`)
  })

  test("that nobody reads is let go by once its request is answered", async () => {
    const { server } = serve(({ target }) => text(target))
    const socket = await open(server)
    socket.write(postHead(LONG_BYTES))
    const chunk = new Uint8Array(CHUNK_BYTES)
    for (let sent = 0; sent < LONG_BYTES; sent += CHUNK_BYTES) if (!socket.write(chunk)) await once(socket, "drain")
    socket.write(get("/next", "Connection: close"))
    let received = ""
    for await (const bytes of socket) received += bytes
    expect(received).toEndWith("\r\n\r\n/next")
    socket.end()
  })
})

describe("requests", () => {
  test("in one write are answered in order", async () => {
    const { url } = serve(({ target }) => (target === "/2" ? moment().then(() => text(target)) : text(target)))
    const connection = await openConnection(url)
    connection.write(get("/1") + get("/2") + get("/3"))
    expect((await connection.responses(3)).map(({ body }) => body)).toEqual(["/1", "/2", "/3"])
    connection.socket.destroy()
  })

  test("byte by byte are read", async () => {
    const { url } = serve(echoTarget)
    const connection = await openConnection(url)
    connection.socket.setNoDelay(true)
    for (const character of get("/1") + get("/2"))
      await new Promise<void>((sent) => connection.socket.write(character, () => setImmediate(sent)))
    expect((await connection.responses(2)).map(({ body }) => body)).toEqual(["/1", "/2"])
    connection.socket.destroy()
  })

  test("of many clients at once are kept apart", async () => {
    const { url, server } = serve(async ({ target }) => {
      await moment()
      return text(target.repeat(1000))
    })
    const targets = Array.from({ length: 50 }, (_, at) => `/${at}`)
    const bodies = await Promise.all(targets.map(async (target) => (await rawRequest(url, get(target)))?.body))
    expect(bodies).toEqual(targets.map((target) => target.repeat(1000)))
    await until(() => server.connections() === 0)
  })

  test("of a standard client are answered on one connection", async () => {
    const { url, server } = serve(async ({ body }) => {
      const read = body instanceof ReadableStream ? await new Response(body).text() : Buffer.from(body ?? []).toString()
      return text(read)
    })
    for (const body of ["", "é", "a".repeat(300_000)])
      expect(await (await fetch(url, { method: "POST", body })).text()).toBe(body)
    expect(server.connections()).toBe(1)
  })

  test("that are none are answered, and the answer is not lost though more was on its way", async () => {
    const { url } = serve(echoTarget)
    const connection = await openConnection(url)
    connection.write(`NONE / HTTP/1.1\r\n\r\n${"a".repeat(MEGABYTE)}`)
    await connection.closed
    expect((await connection.responses(1)).map(({ status, body }) => [status, body])).toEqual([[400, "malformed"]])
  })

  test("whose client closed its half are answered, then the connection closed", async () => {
    const { url, server } = serve(async ({ target }) => {
      await moment()
      return text(target)
    })
    const connection = await openConnection(url)
    connection.socket.end(get("/1") + get("/2"))
    await connection.closed
    expect((await connection.responses(2)).map(({ body }) => body)).toEqual(["/1", "/2"])
    await until(() => server.connections() === 0)
  })

  test("carry the date of now", async () => {
    const { url } = serve(echoTarget)
    const response = await rawRequest(url, get("/"))
    expect(Math.abs(Date.parse(response?.headers.get("date") ?? "") - Date.now())).toBeLessThan(10_000)
  })
})

describe("an answer that cannot be finished", () => {
  test("closes the connection before its end", async () => {
    const { server } = serve(() => ({
      status: 200,
      headers: [],
      body: new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(Buffer.from("abc")),
        pull: (controller) => controller.error(new Error("failed")),
      }),
    }))
    const socket = await open(server)
    let received = ""
    socket.on("data", (bytes) => {
      received += bytes
    })
    // A reset is one way of showing it.
    socket.on("error", () => {})
    const closed = new Promise((resolve) => socket.on("close", resolve))
    socket.write(get("/"))
    await closed
    expect(received).not.toContain("0\r\n\r\n")
    await until(() => server.connections() === 0)
  })
})

describe("an address", () => {
  test("that is in use is an error, and is free again after stop()", async () => {
    const { server } = serve(echoTarget)
    const { port } = server
    expect(() => serve(echoTarget, { port })).toThrow()
    await server.stop()
    const again = serve(echoTarget, { port })
    expect((await rawRequest(again.url, get("/again")))?.body).toBe("/again")
  })

  const hasIpv6 = Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === "::1"))

  test.skipIf(!hasIpv6)("of IPv6 is served", async () => {
    const { server } = serve(echoTarget, { hostname: "::1" })
    const socket = connect({ host: "::1", port: server.port })
    socket.write(get("/v6", "Connection: close"))
    let received = ""
    for await (const bytes of socket) received += bytes
    expect(received).toEndWith("\r\n\r\n/v6")
  })

  test("that cannot be bound is an error", () => {
    expect(() => serve(echoTarget, { hostname: "192.0.2.1" })).toThrow()
  })
})

describe("stop()", () => {
  test("closes idle connections at once, and lets a running request be answered", async () => {
    const running = Promise.withResolvers<Answer>()
    const { url, server } = serve(({ target }) => (target === "/running" ? running.promise : text(target)), {
      graceMs: 60_000,
    })
    const [unused, idle, busy] = [await openConnection(url), await openConnection(url), await openConnection(url)]
    idle.write(get("/idle"))
    await idle.responses(1)
    busy.write(get("/running") + get("/late"))
    await until(() => server.connections() === 3)
    await moment()

    let isStopped = false
    const stopped = server.stop().then(() => {
      isStopped = true
    })
    await Promise.all([unused.closed, idle.closed])
    expect([unused.received(), isStopped]).toEqual(["", false])
    await until(() => server.connections() === 1)

    running.resolve(text("done"))
    await busy.closed
    expect((await busy.responses(1)).map(({ body, headers }) => [body, headers.get("connection")])).toEqual([
      ["done", "close"],
    ])
    await stopped
    expect(server.connections()).toBe(0)
  })

  test("takes no new connection", async () => {
    const { server } = serve(echoTarget)
    await server.stop()
    const socket = connect({ host: "127.0.0.1", port: server.port })
    const [error] = await once(socket, "error")
    expect(error).toMatchObject({ code: "ECONNREFUSED" })
  })

  test("drops what takes longer than its time of grace", async () => {
    const { url, server } = serve(() => new Promise<Answer>(() => {}), { graceMs: 20 })
    const connection = await openConnection(url)
    connection.socket.on("error", () => {})
    connection.write(get("/"))
    await until(() => server.connections() === 1)
    await moment()
    await server.stop()
    await connection.closed
    expect(connection.received()).toBe("")
    expect(server.connections()).toBe(0)
  })

  test("does not wait for a client that keeps its half open beyond its time of grace", async () => {
    const { server } = serve(echoTarget, { graceMs: 20 })
    const socket = await open(server)
    socket.on("error", () => {})
    socket.write(get("/"))
    await once(socket, "data")
    await server.stop()
    await until(() => server.connections() === 0)
    socket.destroy()
  })

  test("is done at once when there is nobody", async () => {
    const { server } = serve(echoTarget, { graceMs: 60_000 })
    await server.stop()
    expect(server.connections()).toBe(0)
  })
})
