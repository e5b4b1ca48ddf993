// TLS with a certificate authority of our own, client certificates, unix sockets, and the bound of requests in flight.
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createScheduler, type SchedulerOptions } from "../../bootstrap/scheduler.ts"
import { startFakeAgent } from "../support/fake_agent.ts"

// Certificates, hundreds of restarts: seconds on a busy machine.
setDefaultTimeout(60_000)

const folder = mkdtempSync(join(tmpdir(), "portolan-tls-"))
afterAll(() => rmSync(folder, { recursive: true }))

const SERVER_NAME = "server.global.nomad"

/** A certificate authority, a server certificate for the region's name, and a client certificate. */
const makeCertificates = () => {
  const at = (name: string) => join(folder, name)
  const openssl = (...args: ReadonlyArray<string>) => execFileSync("openssl", args, { stdio: "pipe", cwd: folder })
  const key = (name: string) => [
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-keyout",
    at(`${name}.key`),
  ]
  openssl("req", "-x509", ...key("ca"), "-out", at("ca.crt"), "-days", "1", "-subj", "/CN=Test authority")
  for (const name of ["server", "client"]) {
    openssl("req", ...key(name), "-out", at(`${name}.csr`), "-subj", `/CN=${name}`)
    writeFileSync(at(`${name}.ext`), `subjectAltName=DNS:${name === "server" ? SERVER_NAME : "client"}`)
    const signing = ["-CA", at("ca.crt"), "-CAkey", at("ca.key"), "-CAcreateserial", "-extfile", at(`${name}.ext`)]
    openssl("x509", "-req", "-in", at(`${name}.csr`), ...signing, "-out", at(`${name}.crt`), "-days", "1")
  }
  const read = (name: string) => readFileSync(at(name), "utf8")
  return {
    ca: read("ca.crt"),
    server: { key: read("server.key"), cert: read("server.crt") },
    client: { key: read("client.key"), cert: read("client.crt") },
  }
}

const hasOpenssl = Bun.which("openssl") !== null

describe("TLS", () => {
  const name = hasOpenssl
    ? "client certificate, authority and server name"
    : "TLS: skipped, there is no openssl command"
  test.skipIf(!hasOpenssl)(name, async () => {
    const { ca, server, client } = makeCertificates()
    const agent = await startFakeAgent({ tls: { ...server, ca, requestCert: true, rejectUnauthorized: true } })
    const ask = async (tls: SchedulerOptions["tls"]) => {
      const scheduler = createScheduler({ baseUrl: agent.url, ...(tls === undefined ? {} : { tls }) })
      const answer = await scheduler.getDefinition("j").catch((error: unknown) => error)
      await scheduler.close()
      return answer
    }
    const unreachable = { code: "SCHEDULER_UNREACHABLE", reason: "tls", applied: "no" }
    expect(await ask(undefined)).toMatchObject(unreachable)
    expect(await ask({ ca, ...client })).toMatchObject(unreachable)
    expect(await ask({ ca, ...client, serverName: "server.other.nomad" })).toMatchObject(unreachable)
    expect(await ask({ ca, serverName: SERVER_NAME })).toMatchObject(unreachable)
    expect(agent.requests).toHaveLength(0)
    expect(await ask({ ca, ...client, serverName: SERVER_NAME })).toMatchObject({ code: "SCHEDULER_NOT_FOUND" })
    expect(agent.requests).toHaveLength(1)
    await agent.stop()
  })
})

describe("unix sockets", () => {
  test("an agent behind one", async () => {
    const agent = await startFakeAgent({ unixSocket: join(folder, "api.sock"), token: "t" })
    await using scheduler = createScheduler({ baseUrl: agent.url, token: "t" })
    await scheduler.runJob({ ID: "j", Name: "j", TaskGroups: [{ Name: "g" }] })
    expect((await scheduler.getDefinition("j")).ID).toBe("j")
    await agent.stop()
    expect(await scheduler.getDefinition("j").catch((error: unknown) => error)).toMatchObject({
      code: "SCHEDULER_UNREACHABLE",
    })
  })
})

describe("many restarts", () => {
  test("73: 200 restarts of 100 jobs end with every job at 1, with never more requests in flight than allowed", async () => {
    const agent = await startFakeAgent({ delayMs: 1 })
    await using scheduler = createScheduler({ baseUrl: agent.url, maxInFlight: 16, restart: { delayMs: 100 } })
    const ids = Array.from({ length: 100 }, (_, index) => `job-${index}`)
    const job = (ID: string) => ({
      ID,
      Name: ID,
      TaskGroups: [{ Name: "restreamer", Count: 1, Update: { MinHealthyTime: 0 } }],
    })
    await Promise.all(ids.map((id) => scheduler.runJob(job(id))))
    const before = agent.requests.length
    await Promise.all([...ids, ...ids].map((id) => scheduler.restartJob(id)))
    await scheduler.close()
    // Four scalings a job, one of them refused: the other restart has changed the job meanwhile, and a look says what to do.
    const asked = agent.requests.length - before
    expect(asked).toBeGreaterThanOrEqual(500)
    expect(asked).toBeLessThanOrEqual(700)
    expect(agent.mostInFlight()).toBeLessThanOrEqual(16)
    expect(agent.mostInFlight()).toBeGreaterThan(8)
    await using reader = createScheduler({ baseUrl: agent.url })
    const counts = await Promise.all(ids.map(async (id) => (await reader.getDefinition(id)).TaskGroups?.[0]?.Count))
    expect(counts).toEqual(ids.map(() => 1))
    await agent.stop()
  })

  test("63: the promise resolves before the second request, which follows one second after the first answer", async () => {
    const agent = await startFakeAgent()
    const scheduler = createScheduler({ baseUrl: agent.url })
    await scheduler.runJob({ ID: "j", Name: "j", TaskGroups: [{ Name: "restreamer", Update: { MinHealthyTime: 0 } }] })
    await scheduler.restartJob("j")
    const answered = performance.now()
    expect(agent.requests).toHaveLength(2)
    await scheduler.close()
    expect(agent.requests).toHaveLength(3)
    expect((agent.requests[2]?.atMs ?? 0) - answered).toBeGreaterThan(900)
    await agent.stop()
  })
})
