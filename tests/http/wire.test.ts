// What only a socket shows: requests as bytes, some of which no client library would send. Where the runtime's server
// decides before a handler sees the request, its safe answer is asserted: refused or closed, and the store not called.
import { describe, expect, test } from "bun:test"
import { once } from "node:events"
import { openConnection, type RawResponse, rawRequest } from "../support/raw_http.ts"
import { sharedService } from "../support/test_service.ts"

const service = await sharedService()
const bearer = `Authorization: Bearer ${service.token("user")}`

const JSON_TYPE = "Content-Type: application/json"
const RECORD = '{"name":"a"}'

/** A request as bytes; `Host: localhost` unless a line of its own says otherwise. */
const bytes = (line: string, headers: ReadonlyArray<string> = [], body = ""): string => {
  const host = headers.some((header) => /^host:/i.test(header)) ? [] : ["Host: localhost"]
  return [`${line} HTTP/1.1`, ...host, ...headers, "", body].join("\r\n")
}

const list = () => bytes("GET /api/products", [bearer])
const create = (headers: ReadonlyArray<string>, body = "") =>
  bytes("POST /api/products", [bearer, JSON_TYPE, ...headers], body)

const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

const codeOf = (response: RawResponse | undefined): unknown => JSON.parse(response?.body ?? "null")?.code

/** Sends the bytes on a connection of its own; the answer is a refusal of ours and the store was not called. */
const expectRefused = async (data: string, status: number, code: string): Promise<void> => {
  const before = service.storeCalls()
  const response = await rawRequest(service.url, data)
  expect([response?.status, codeOf(response)]).toEqual([status, code])
  expect(service.storeCalls()).toBe(before)
}

/** Sends the bytes; the runtime ends the connection, with this status or none, without a body, and the store was not called. */
const expectEnded = async (data: string, status: number | undefined): Promise<void> => {
  const before = service.storeCalls()
  const connection = await openConnection(service.url)
  connection.write(data)
  await connection.closed
  const head = status === undefined ? "" : connection.received().split("\r\n\r\n")[0]
  expect(connection.received()).toBe(status === undefined ? "" : `${head}\r\n\r\n`)
  if (status !== undefined) expect(head).toStartWith(`HTTP/1.1 ${status} `)
  expect(service.storeCalls()).toBe(before)
}

describe("size of a body", () => {
  test("a declared length over 1 MiB is refused before a byte of the body came", () =>
    expectRefused(create(["Content-Length: 1048577"]), 413, "BODY_TOO_LARGE"))

  test("chunks are counted: over 1 MiB is refused", () =>
    expectRefused(
      create(["Transfer-Encoding: chunked"], `${chunk("a".repeat(1_048_577))}0\r\n\r\n`),
      413,
      "BODY_TOO_LARGE",
    ))

  test("far over 1 MiB the runtime ends the connection: declared, chunked without an end, without a token", async () => {
    await expectEnded(create(["Content-Length: 50000000000"]), 413)
    await expectEnded(create(["Transfer-Encoding: chunked"], chunk("a".repeat(1_200_000))), 413)
    await expectEnded(bytes("POST /api/products", [JSON_TYPE, "Content-Length: 50000000000"]), 413)
  })

  test("chunks of exactly 1 MiB are read and judged", async () => {
    const name = "a".repeat(1_048_576 - RECORD.length + 1)
    const body = `${chunk(`{"name":"${name.slice(0, 600_000)}`)}${chunk(`${name.slice(600_000)}"}`)}0\r\n\r\n`
    await expectRefused(create(["Transfer-Encoding: chunked"], body), 422, "INVALID_RECORD")
  })

  test("a chunked record is stored", async () => {
    const body = `${chunk(RECORD.slice(0, 5))}${chunk(RECORD.slice(5))}0\r\n\r\n`
    expect((await rawRequest(service.url, create(["Transfer-Encoding: chunked"], body)))?.status).toBe(201)
  })

  test("what follows a refused body on the wire is body, never a request", async () => {
    const before = service.storeCalls()
    const connection = await openConnection(service.url)
    const hidden = bytes("POST /api/products", [bearer, JSON_TYPE, `Content-Length: ${RECORD.length}`], RECORD)
    const length = 1_048_577
    connection.write(create([`Content-Length: ${length}`], hidden.padEnd(length, " ")))
    connection.write(list())
    const responses = await connection.responses(2)
    expect(responses.map(({ status }) => status)).toEqual([413, 200])
    expect(service.storeCalls()).toBe(before + 1)
    connection.socket.destroy()
  })
})

describe("size of headers", () => {
  test.each([
    ["a token of 1 MB", bytes("GET /api/products", [`Authorization: Bearer ${"a".repeat(1_000_000)}`])],
    ["a query of 20 KB", bytes(`GET /api/products?${"a".repeat(20_000)}`)],
    ["10,000 headers", bytes("GET /api/products", new Array<string>(10_000).fill("X-A: b"))],
  ])("%s: refused by the runtime", (_what, data) => expectEnded(data, 431))
})

describe("Host", () => {
  for (const host of ["Host: a", "Host: ab", "Host: a:80", "Host:"]) {
    test(`'${host}' drops no segment of the path`, async () => {
      // Of each, Elysia alone would see only what begins at a later slash.
      for (const prefix of ["/x", "/xx", "/xxx", "/xxxx", "/xxxxxxxxxx", "/xxxxxxxxxxx"])
        await expectRefused(bytes(`GET ${prefix}/api/products`, [host, bearer]), 404, "ROUTE_NOT_FOUND")
    })

    test(`'${host}' is served`, async () => {
      expect((await rawRequest(service.url, bytes("GET /api/products?limit=1", [host, bearer])))?.status).toBe(200)
      const post = create([host, `Content-Length: ${RECORD.length}`], RECORD)
      const response = await rawRequest(service.url, post)
      expect(response?.status).toBe(201)
      expect(response?.headers.get("location")).toMatch(/^\/api\/products\/\d+$/)
    })
  }

  test("HTTP/1.0 needs none, as health checks write it", async () => {
    const response = await rawRequest(service.url, "GET /health/ready HTTP/1.0\r\n\r\n")
    expect([response?.status, response?.body]).toEqual([200, '{"status":"ready"}'])
  })

  test("HTTP/1.1 needs one", () => expectEnded(`GET /api/products HTTP/1.1\r\n${bearer}\r\n\r\n`, 400))

  test.each([
    ["two", ["Host: localhost", "Host: elsewhere"]],
    ["two alike", ["Host: localhost", "Host: localhost"]],
    ["a path in it", ["Host: localhost/api/products"]],
    ["user info in it", ["Host: user@localhost"]],
    ["a blank in it", ["Host: a b"]],
    ["a query in it", ["Host: localhost?x"]],
  ])("%s: refused, also without a token", async (_what, hosts) => {
    await expectRefused(bytes("GET /api/products", [...hosts, bearer]), 400, "INVALID_HOST")
    await expectRefused(bytes("GET /api/products", hosts), 400, "INVALID_HOST")
  })

  test("an absolute-form target goes by its path, whatever authority it names", async () => {
    expect((await rawRequest(service.url, bytes("GET http://a/api/products", [bearer])))?.status).toBe(200)
    await expectRefused(bytes("GET http://a/xxxx/api/products", [bearer]), 404, "ROUTE_NOT_FOUND")
    await expectRefused(bytes("GET http://a/api/products"), 401, "UNAUTHENTICATED")
  })
})

describe("a path with dot segments", () => {
  test.each(["/health/../api/products", "/health/%2e%2e/api/products", "/health/..\\api/products"])(
    "%s is resolved before it is judged: without a token it opens nothing",
    async (path) => {
      await expectRefused(bytes(`GET ${path}`), 401, "UNAUTHENTICATED")
      expect((await rawRequest(service.url, bytes(`GET ${path}`, [bearer])))?.status).toBe(200)
    },
  )
})

describe("framing", () => {
  test.each([
    [
      "a length and chunks",
      [`Content-Length: ${RECORD.length}`, "Transfer-Encoding: chunked"],
      `${chunk(RECORD)}0\r\n\r\n`,
    ],
    ["two lengths", [`Content-Length: ${RECORD.length}`, "Content-Length: 13"], RECORD],
    ["a negative length", ["Content-Length: -1"], RECORD],
    ["a broken chunk size", ["Transfer-Encoding: chunked"], `zz\r\n${RECORD}\r\n0\r\n\r\n`],
    ["another transfer coding", ["Transfer-Encoding: gzip"], RECORD],
    ["a second transfer coding", ["Transfer-Encoding: chunked, gzip"], RECORD],
  ])("%s: refused and the connection closed", (_what, headers, body) =>
    expectEnded(create(headers, body) + list(), 400),
  )

  test.each([
    ["no HTTP at all", "\x16\x03\x01\x02\x00\x01\r\n\r\n", 400],
    ["HTTP/2 without asking", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
    ["a header line that goes on in the next", bytes("GET /api/products", ["X-A: b\r\n c"]), 400],
    ["a blank before the colon", bytes("GET /api/products", ["X-A : b"]), 400],
    ["a NUL in a header", bytes("GET /api/products", ["X-A: a\0b"]), 400],
    ["line ends without carriage return", "GET /api/products HTTP/1.1\nHost: localhost\n\n", 505],
    ["another version", "GET /api/products HTTP/1.2\r\nHost: localhost\r\n\r\n", 505],
    ["another protocol", "GET /api/products RTSP/1.0\r\nHost: localhost\r\n\r\n", 505],
    ["no resource", bytes("OPTIONS *"), 400],
    ["a method nobody knows", bytes("FETCH /api/products"), undefined],
  ])("%s: the connection is closed", (_what, data, status) => expectEnded(data, status))

  test("a tunnel finds no route", () => expectRefused(bytes("CONNECT localhost:80"), 404, "ROUTE_NOT_FOUND"))

  test("two lengths that agree are one", async () => {
    const length = `Content-Length: ${RECORD.length}`
    expect((await rawRequest(service.url, create([length, length], RECORD)))?.status).toBe(201)
  })

  test("a body cut off in the middle stores nothing", async () => {
    const before = service.storeCalls()
    for (const headers of [["Content-Length: 50"], ["Transfer-Encoding: chunked"]]) {
      const connection = await openConnection(service.url)
      connection.socket.end(create(headers, headers[0]?.startsWith("T") ? chunk(RECORD) : RECORD))
      await connection.closed
      expect((await connection.responses(1)).map(({ status }) => status)).not.toContain(201)
    }
    expect((await service.send("/health/live")).status).toBe(200)
    expect(service.storeCalls()).toBe(before)
  })

  test("several requests in one write are answered in order, or the connection is closed", async () => {
    const connection = await openConnection(service.url)
    connection.write(
      [bytes("GET /x"), bytes("GET /api/products"), list(), bytes("GET /x", ["Connection: close"])].join(""),
    )
    await connection.closed
    const statuses = (await connection.responses(4)).map(({ status }) => status)
    expect(statuses).toEqual([404, 401, 200, 404].slice(0, statuses.length))
    expect(statuses.length).toBeGreaterThan(0)
  })

  test("Expect: 100-continue is told to go on", async () => {
    const connection = await openConnection(service.url)
    connection.write(create([`Content-Length: ${RECORD.length}`, "Expect: 100-continue"]))
    expect((await connection.responses(1)).map(({ status }) => status)).toEqual([100])
    connection.write(RECORD)
    expect((await connection.responses(2)).map(({ status }) => status)).toEqual([100, 201])
    connection.socket.destroy()
  })

  test("HEAD has no byte of a body", async () => {
    const connection = await openConnection(service.url)
    connection.write(
      bytes("HEAD /api/products", [bearer]) +
        bytes("HEAD /api/products/999999", [bearer]) +
        bytes("HEAD /api/products") +
        bytes("GET /health/live", ["Connection: close"]),
    )
    await connection.closed
    const [first = "", second = "", third = "", fourth = "", ...rest] = connection.received().split("\r\n\r\n")
    expect([first, second, third, fourth].map((head) => head.slice(0, 12))).toEqual([
      "HTTP/1.1 200",
      "HTTP/1.1 404",
      "HTTP/1.1 401",
      "HTTP/1.1 200",
    ])
    expect(first).toMatch(/content-length: [1-9]/i)
    expect(rest).toEqual([expect.stringMatching(/^\{"status":"live","version":"[^"]+"\}$/)])
  })
})

describe("slow senders", () => {
  test("a body that drips in is read", async () => {
    const connection = await openConnection(service.url)
    connection.socket.setNoDelay(true)
    connection.write(create([`Content-Length: ${RECORD.length}`]))
    for (const character of RECORD)
      await new Promise<void>((sent) => connection.socket.write(character, () => setImmediate(sent)))
    expect((await connection.responses(1)).map(({ status }) => status)).toEqual([201])
    connection.socket.destroy()
  })
})

describe("credentials", () => {
  test.each([["Content-Length: 1000000"], ["Content-Length: 12"], ["Transfer-Encoding: chunked"]])(
    "no token: 401 before the body (%s)",
    (header) => expectRefused(bytes("POST /api/products", [JSON_TYPE, header]), 401, "UNAUTHENTICATED"),
  )

  test("what a refused caller goes on sending is not kept", async () => {
    const connection = await openConnection(service.url)
    let isClosed = false
    void connection.closed.then(() => {
      isClosed = true
    })
    connection.socket.on("error", () => {})
    connection.write(bytes("POST /api/products", ["Transfer-Encoding: chunked"]))
    expect((await connection.responses(1)).map(({ status }) => status)).toEqual([401])
    const before = process.memoryUsage.rss()
    const megabyte = chunk("a".repeat(1_000_000))
    for (let sent = 0; sent < 400 && !isClosed; sent++)
      if (!connection.socket.write(megabyte)) await Promise.race([once(connection.socket, "drain"), connection.closed])
    expect(process.memoryUsage.rss() - before).toBeLessThan(200_000_000)
    connection.socket.destroy()
  })
})
