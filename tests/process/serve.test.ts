// `portolan serve` as a process: how it stops, what survives when it is killed, its second listener, its log.
import { afterAll, describe, expect, test } from "bun:test"
import { openConnection } from "../support/raw_http.ts"
import { callerHeaders, endProcesses, newHome, serve, startProcess, stop } from "../support/service_process.ts"

afterAll(endProcesses)

const RECORD = '{"name":"a"}'

/** A create whose body has not been sent yet, and which the service is known to be working on. */
const openCreate = async (address: string) => {
  const connection = await openConnection(address)
  const headers = Object.entries(callerHeaders()).map(([name, value]) => `${name}: ${value}`)
  connection.write(
    [
      "POST /api/products HTTP/1.1",
      "Host: localhost",
      ...headers,
      `Content-Length: ${RECORD.length}`,
      "Expect: 100-continue",
      "",
      "",
    ].join("\r\n"),
  )
  const [first] = await connection.responses(1)
  expect(first?.status).toBe(100)
  return connection
}

const refusesConnections = (address: string): Promise<boolean> =>
  openConnection(address).then(
    ({ socket }) => {
      socket.destroy()
      return false
    },
    () => true,
  )

const create = (address: string, name: string) =>
  fetch(`${address}/api/products`, { method: "POST", body: JSON.stringify({ name }), headers: callerHeaders() })

describe("stopping", () => {
  test.concurrent("a signal in mid-request: the request is finished, no new connection is taken, exit 0", async () => {
    const home = newHome()
    const service = await serve({ PORTOLAN_HOME: home })
    const connection = await openCreate(service.address)
    service.signal("SIGTERM")
    await service.shows(/"message":"Stopping","signal":"SIGTERM"/)
    while (!(await refusesConnections(service.address))) await Bun.sleep(5)
    connection.write(RECORD)
    const answered = await connection.responses(2)
    expect(answered.map(({ status }) => status)).toEqual([100, 201])
    expect(await service.ended).toBe(0)
    expect(service.stderr()).toMatch(/"path":"\/api\/products","status":201/)
    expect(service.stderr().trimEnd().split("\n").at(-1)).toContain('"message":"Stopped"')

    const second = await serve({ PORTOLAN_HOME: home })
    const { data } = (await (await fetch(`${second.address}/api/products`, { headers: callerHeaders() })).json()) as {
      data: ReadonlyArray<object>
    }
    expect(data).toHaveLength(1)
    second.signal("SIGINT")
    expect(await second.ended).toBe(0)
  })

  test.concurrent.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("a second signal (%s) ends it at once, request or not", async (signal, code) => {
    const service = await serve({ STORE: "memory" })
    const connection = await openCreate(service.address)
    service.signal("SIGTERM")
    await service.shows(/"message":"Stopping"/)
    service.signal(signal)
    expect(await service.ended).toBe(code)
    connection.socket.destroy()
  })
})

describe("kill -9", () => {
  test.concurrent("every record that was answered 201 is there after the restart", async () => {
    const home = newHome()
    const acknowledged = new Map<number, string>()
    for (let round = 1; round <= 2; round++) {
      const service = await serve({ PORTOLAN_HOME: home })
      let killed = false
      const client = async (number: number) => {
        for (let at = 0; !killed; at++) {
          const name = `${round}-${number}-${at}`
          const response = await create(service.address, name).catch(() => undefined)
          if (response?.status !== 201) return
          const { data } = (await response.json()) as { data: { id: number } }
          acknowledged.set(data.id, name)
          if (acknowledged.size >= round * 100 && !killed) {
            killed = true
            service.signal("SIGKILL")
          }
        }
      }
      await Promise.all(Array.from({ length: 16 }, (_, number) => client(number)))
      expect(killed).toBe(true)
      await service.ended
    }
    const service = await serve({ PORTOLAN_HOME: home })
    const response = await fetch(`${service.address}/api/products?limit=1000`, { headers: callerHeaders() })
    const { data } = (await response.json()) as { data: ReadonlyArray<{ id: number; name: string }> }
    const stored = new Map(data.map(({ id, name }) => [id, name]))
    expect(acknowledged.size).toBeGreaterThanOrEqual(200)
    expect([...acknowledged].filter(([id, name]) => stored.get(id) !== name)).toEqual([])
    await stop(service)
  })
})

describe("listeners and log", () => {
  test.concurrent("ADMIN_PORT takes health and metrics away; LOG_FORMAT=json makes every line an object", async () => {
    const service = await serve({ ADMIN_PORT: "0", LOG_FORMAT: "json", LOG_LEVEL: "debug", STORE: "memory" })
    const admin = (await service.shows(/"adminUrl":"([^"]+)"/))[1]
    for (const path of ["/health/live", "/health/ready", "/metrics"]) {
      expect([path, (await fetch(`${admin}${path}`)).status]).toEqual([path, 200])
      expect([path, (await fetch(`${service.address}${path}`)).status]).toEqual([path, 404])
    }
    expect((await fetch(`${admin}/api/products`, { headers: callerHeaders() })).status).toBe(404)
    const response = await create(service.address, "a")
    await fetch(`${service.address}/%22%0a"\\\u2028`)
    expect(await stop(service)).toBe(0)
    const lines = service
      .stderr()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    for (const line of lines) {
      expect(new Date(String(line["time"])).toISOString()).toBe(String(line["time"]))
      expect([typeof line["level"], typeof line["message"]]).toEqual(["string", "string"])
    }
    const ofRequest = lines.filter((line) => line["requestId"] === response.headers.get("x-request-id"))
    expect(ofRequest).toMatchObject([{ message: "request", method: "POST", path: "/api/products", status: 201 }])
    expect(lines[0]).toMatchObject({ level: "WARN", message: expect.stringContaining("STORE=memory") })
    expect(service.stdout()).toBe("")
  })

  test.concurrent("LOG_LEVEL=error and LOG_FORMAT=pretty: no line for what went well", async () => {
    const service = startProcess(["demo"], { LOG_LEVEL: "error", LOG_FORMAT: "pretty", STORE: "memory" })
    const address = (await service.shows(/Address +(\S+)\n/))[1]
    await fetch(`${address}/health/live`)
    expect([await stop(service), service.stderr()]).toEqual([0, ""])
  })
})
