// `portolan serve` as a process: how it stops, what survives when it is killed, its second listener, its log.
import { afterAll, describe, expect, test } from "bun:test"
import { openCreate, refusesConnections } from "../support/open_create.ts"
import { callerHeaders, endProcesses, newHome, serve, startProcess, stop } from "../support/service_process.ts"

afterAll(endProcesses)

const create = (address: string, name: string) =>
  fetch(`${address}/api/products`, { method: "POST", body: JSON.stringify({ name }), headers: callerHeaders() })

/** Creates records from several clients until the service is gone; what was answered 201 by then, at least so many. */
const createUntilKilled = async (service: Awaited<ReturnType<typeof serve>>, least: number) => {
  const acknowledged = new Map<number, string>()
  const client = async (number: number) => {
    for (let at = 0; ; at++) {
      const response = await create(service.address, `${number}-${at}`).catch(() => undefined)
      if (response?.status !== 201) return
      const { data } = (await response.json()) as { data: { id: number } }
      acknowledged.set(data.id, `${number}-${at}`)
      if (acknowledged.size === least) service.signal("SIGKILL")
    }
  }
  await Promise.all(Array.from({ length: 16 }, (_, number) => client(number)))
  await service.ended
  return acknowledged
}

describe("the end of a service", () => {
  test.concurrent("SIGTERM in mid-request, then kill -9 twice: no request is cut off, every record answered 201 is kept", async () => {
    const home = newHome()
    const service = await serve({ PORTOLAN_HOME: home })
    const held = await openCreate(service.address)
    service.signal("SIGTERM")
    await service.shows(/"message":"Stopping","signal":"SIGTERM"/)
    while (!(await refusesConnections(service.address))) await Bun.sleep(5)
    expect(await held.finish()).toEqual([100, 201])
    expect(await service.ended).toBe(0)
    expect(service.stderr()).toMatch(/"path":"\/api\/products","status":201/)
    expect(service.stderr().trimEnd().split("\n").at(-1)).toContain('"message":"Stopped"')

    const acknowledged = new Map([[1, "a"]])
    for (const _round of [1, 2])
      for (const [id, name] of await createUntilKilled(await serve({ PORTOLAN_HOME: home }), 100))
        acknowledged.set(id, name)
    const last = await serve({ PORTOLAN_HOME: home })
    const response = await fetch(`${last.address}/api/products?limit=1000`, { headers: callerHeaders() })
    const { data } = (await response.json()) as { data: ReadonlyArray<{ id: number; name: string }> }
    const stored = new Map(data.map(({ id, name }) => [id, name]))
    expect(acknowledged.size).toBeGreaterThan(200)
    expect([...acknowledged].filter(([id, name]) => stored.get(id) !== name)).toEqual([])
    last.signal("SIGINT")
    expect(await last.ended).toBe(0)
  })

  test.concurrent.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("a second signal (%s) ends it at once, request or not", async (signal, code) => {
    const service = await serve({ STORE: "memory" })
    const held = await openCreate(service.address)
    service.signal("SIGTERM")
    await service.shows(/"message":"Stopping"/)
    service.signal(signal)
    expect(await service.ended).toBe(code)
    held.socket.destroy()
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
