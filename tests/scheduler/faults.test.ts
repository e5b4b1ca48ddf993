// What goes wrong on the way: cases 42 to 62. Raw sockets say what no HTTP server would.
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { gzipSync } from "node:zlib"
import type { Scheduler, SchedulerOptions } from "../../bootstrap/scheduler.ts"
import { failureOf, schedulerClients } from "../support/scheduler_clients.ts"

// Answers of tens of megabytes: seconds on a busy machine.
setDefaultTimeout(60_000)

const TOKEN = "s3cr3t-token-value"
const JOB = '{"ID":"j","Name":"j"}'

const open: Array<{ readonly close: () => void }> = []

afterEach(() => {
  for (const each of open.splice(0)) each.close()
})

/** Length of the first complete request in a text; 0 while it is not complete. */
const requestLength = (received: string): number => {
  const head = received.indexOf("\r\n\r\n") + 4
  if (head < 4) return 0
  const length = head + Number(/^content-length: *(\d+)/im.exec(received.slice(0, head))?.[1] ?? 0)
  return received.length >= length ? length : 0
}

/** A server that counts requests and answers each with what `answer` does to the socket. */
const rawServer = async (answer: (socket: Socket, count: number) => void) => {
  let seen = 0
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
    socket.on("error", () => {})
    let received = ""
    socket.on("data", (data) => {
      received += data.toString("latin1")
      // Answered once it is there as a whole: what arrives at an ended socket would reset it.
      for (let length = requestLength(received); length > 0; length = requestLength(received)) {
        received = received.slice(length)
        answer(socket, ++seen)
      }
    })
  })
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready))
  open.push({
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  })
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}`, port, seen: () => seen, sockets }
}

const made = schedulerClients(() => ({ baseUrl: "", token: TOKEN }))
const client = (baseUrl: string, options: Partial<SchedulerOptions> = {}): Scheduler => made({ baseUrl, ...options })

const failure = async (call: Promise<unknown>): Promise<Record<string, unknown>> => {
  const error = await failureOf(call)
  for (const text of [String(error), (error as unknown as Error).stack ?? "", Bun.inspect(error, { depth: 10 })])
    expect(text).not.toContain(TOKEN)
  return error
}

const http = (body: string | Uint8Array, ...headers: ReadonlyArray<string>): Buffer =>
  Buffer.concat([
    Buffer.from(["HTTP/1.1 200 OK", "Connection: close", ...headers, "", ""].join("\r\n")),
    typeof body === "string" ? Buffer.from(body) : body,
  ])
const whole = (body: string, ...headers: ReadonlyArray<string>) =>
  http(body, `Content-Length: ${Buffer.byteLength(body)}`, ...headers)

describe("connections", () => {
  test("42: refused", async () => {
    const { url, sockets } = await rawServer(() => {})
    for (const each of open.splice(0)) each.close()
    expect(sockets.size).toBe(0)
    expect(await failure(client(url).scaleJob("j", 1))).toMatchObject({
      code: "SCHEDULER_UNREACHABLE",
      applied: "no",
      reason: "connection",
    })
  })

  test("43: unknown host", async () => {
    expect(await failure(client("http://no-such-host.invalid").getDefinition("j"))).toMatchObject({
      code: "SCHEDULER_UNREACHABLE",
      applied: "no",
    })
  })

  test("44: TLS to a plain port", async () => {
    const plain = createServer((socket) => {
      socket.on("error", () => {})
      socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"))
    })
    await new Promise<void>((ready) => plain.listen(0, "127.0.0.1", ready))
    open.push({ close: () => plain.close() })
    const { port } = plain.address() as AddressInfo
    expect(await failure(client(`https://127.0.0.1:${port}`).getDefinition("j"))).toMatchObject({
      code: "SCHEDULER_UNREACHABLE",
      reason: "tls",
      applied: "no",
    })
  })

  test.each([
    ["scale", (scheduler: Scheduler) => scheduler.scaleJob("j", 1)],
    ["run", (scheduler: Scheduler) => scheduler.runJob({ ID: "j", Name: "j" })],
    ["delete", (scheduler: Scheduler) => scheduler.deleteJob("j")],
  ])(
    "45: a reset before the answer is unknown, and %s is sent once, also on a warm connection",
    async (_name, call) => {
      const keepAlive = Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${JOB.length}\r\n\r\n${JOB}`)
      const { url, seen } = await rawServer((socket, count) =>
        count === 1 ? socket.write(keepAlive) : socket.resetAndDestroy(),
      )
      const scheduler = client(url)
      await scheduler.getDefinition("j")
      expect(await failure(call(scheduler))).toMatchObject({ code: "SCHEDULER_CONNECTION_LOST", applied: "unknown" })
      expect(seen()).toBe(2)
    },
  )

  test.each([
    ["46: reset in a counted body", http('{"ID":', "Content-Length: 100"), true],
    ["46: end in a counted body", http('{"ID":', "Content-Length: 100"), false],
    ["47: chunks without an end", http("4\r\nhalf\r\n", "Transfer-Encoding: chunked"), false],
    ["48: gzip cut off", http(gzipSync("x".repeat(5000)).subarray(0, 20), "Content-Encoding: gzip"), false],
  ])("%s is never half a success", async (_name, answer, reset) => {
    const { url, seen } = await rawServer((socket) => {
      socket.write(answer)
      setTimeout(() => (reset ? socket.resetAndDestroy() : socket.end()), 20)
    })
    expect((await failure(client(url).scaleJob("j", 1)))["code"]).toBe("SCHEDULER_CONNECTION_LOST")
    expect(seen()).toBe(1)
  })
})

describe("answers", () => {
  const served = async (answer: Buffer) => {
    const { url } = await rawServer((socket) => socket.end(answer))
    return client(url)
  }

  test.each([
    ["49: cut JSON", '{"ID":"j"', "application/json"],
    ["50: a page", "<html>", "text/html"],
    ["51: nothing", "", "application/json"],
    ["52: a list", "[]", "application/json"],
    ["52: no id", '{"Name":"j"}', "application/json"],
    ["52: an id that is a number", '{"ID":1}', "application/json"],
  ])("%s is no definition", async (_name, body, type) => {
    const error = await failure((await served(whole(body, `Content-Type: ${type}`))).getDefinition("j"))
    expect(error).toMatchObject({ code: "UNREADABLE_ANSWER", status: 200, body })
  })

  test("51: an empty 200 to a change is success", async () => {
    for (const call of [
      (scheduler: Scheduler) => scheduler.scaleJob("j", 1),
      (scheduler: Scheduler) => scheduler.runJob({ ID: "j", Name: "j" }),
      (scheduler: Scheduler) => scheduler.deleteJob("j"),
    ])
      expect(await call(await served(whole("")))).toBeUndefined()
  })

  test("59: gzip in chunks", async () => {
    const body = gzipSync(JOB)
    const chunked = Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")])
    const answer = http(chunked, "Content-Encoding: gzip", "Transfer-Encoding: chunked")
    expect(await (await served(answer)).getDefinition("j")).toEqual({ ID: "j", Name: "j" })
  })

  test("60: a byte order mark, blanks and a line end around JSON; broken UTF-8 inside", async () => {
    for (const text of [`\ufeff${JOB}`, `  ${JOB}\n`])
      expect(await (await served(whole(text))).getDefinition("j")).toEqual({ ID: "j", Name: "j" })
    const broken = Buffer.concat([Buffer.from('{"ID":"j","Name":"'), Buffer.from([0xff]), Buffer.from('"}')])
    const job = await (await served(http(broken, `Content-Length: ${broken.length}`))).getDefinition("j")
    expect(job.Name).toBe("\ufffd")
  })

  test("61: repeated keys and __proto__", async () => {
    const text = '{"ID":"j","ID":"k","Name":"j","__proto__":{"polluted":1}}'
    const job = await (await served(whole(text))).getDefinition("j")
    expect(job.ID).toBe("k")
    expect(Object.keys(job)).toContain("__proto__")
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined()
  })

  test.each(["X-Nomad-Index: abc", "X-Nomad-Index: -1", "X-Other: 1"])("62: header '%s' is ignored", async (header) => {
    const scheduler = await served(whole(JOB, header))
    expect(await scheduler.pollDefinition("j", "", { index: 1, waitMs: 1 })).toEqual({ value: { ID: "j", Name: "j" } })
  })

  test("57: an answer over 64 MiB is given up, declared or not", async () => {
    const size = 65 * 2 ** 20
    const declared = await rawServer((socket) => socket.write(http("{", `Content-Length: ${size}`)))
    expect(await failure(client(declared.url).getDefinition("j"))).toMatchObject({ code: "UNREADABLE_ANSWER" })
    const mebibyte = Buffer.alloc(2 ** 20, 0x20)
    const endless = await rawServer((socket) => {
      socket.write(http(""))
      const more = () => {
        while (!socket.destroyed && socket.write(mebibyte)) {}
      }
      socket.on("drain", more)
      more()
    })
    const before = process.memoryUsage().rss
    expect(await failure(client(endless.url).getDefinition("j"))).toMatchObject({ code: "UNREADABLE_ANSWER" })
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * 2 ** 20)
  })

  test("58: a compression bomb is given up", async () => {
    const bomb = gzipSync(Buffer.alloc(200 * 2 ** 20, 0x20))
    const scheduler = await served(http(bomb, "Content-Encoding: gzip", `Content-Length: ${bomb.length}`))
    expect(await failure(scheduler.getDefinition("j"))).toMatchObject({ code: "UNREADABLE_ANSWER" })
  })
})

describe("deadlines", () => {
  /** Longest time a deadline of 200 ms may take on a busy machine; without it a read would take 10 s. */
  const UNDER_LOAD_MS = 8000

  const took = async (call: Promise<unknown>) => {
    const began = performance.now()
    const error = await failure(call)
    return { error, ms: performance.now() - began }
  }

  test("53, 55: slow headers end at the deadline, and the connection with them", async () => {
    const unhandled: Array<unknown> = []
    const note = (reason: unknown) => void unhandled.push(reason)
    process.on("unhandledRejection", note)
    const { url, sockets } = await rawServer(() => {})
    const { error, ms } = await took(client(url, { readTimeoutMs: 200 }).getDefinition("j"))
    expect(error).toMatchObject({ code: "SCHEDULER_TIMEOUT", applied: "unknown" })
    expect(ms).toBeGreaterThan(190)
    expect(ms).toBeLessThan(UNDER_LOAD_MS)
    await Bun.sleep(50)
    process.off("unhandledRejection", note)
    expect(sockets.size).toBe(0)
    expect(unhandled).toEqual([])
  })

  test("a deadline further away than any timer reaches is none", async () => {
    const { url } = await rawServer((socket) => void setTimeout(() => socket.write(whole(JOB)), 50))
    const { ID } = await client(url, { readTimeoutMs: Number.MAX_SAFE_INTEGER }).getDefinition("j")
    expect(ID).toBe("j")
  })

  test("54: a body that drips ends at the deadline", async () => {
    const { url, seen } = await rawServer((socket) => {
      socket.write(http("", "Transfer-Encoding: chunked"))
      const drip = setInterval(() => (socket.destroyed ? clearInterval(drip) : socket.write("1\r\n \r\n")), 20)
    })
    const { error, ms } = await took(client(url, { writeTimeoutMs: 200 }).scaleJob("j", 1))
    expect(error["code"]).toBe("SCHEDULER_TIMEOUT")
    expect(ms).toBeLessThan(UNDER_LOAD_MS)
    expect(seen()).toBe(1)
  })
})

describe("redirects", () => {
  test.each([301, 302, 303, 307, 308])("56: %d is not followed, and nothing reaches its target", async (status) => {
    const target = await rawServer((socket) => socket.end(whole(JOB)))
    for (const location of [target.url, "/v1/elsewhere"]) {
      const { url, seen } = await rawServer((socket) =>
        socket.end(
          `HTTP/1.1 ${status} Moved\r\nLocation: ${location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
        ),
      )
      const scheduler = client(url)
      for (const call of [scheduler.getDefinition("j"), scheduler.scaleJob("j", 0), scheduler.deleteJob("j")])
        expect((await failure(call))["code"]).toBe("SCHEDULER_REDIRECTED")
      expect(seen()).toBe(3)
    }
    expect(target.seen()).toBe(0)
  })
})
