// Our policies as the gateway's plugin server: asked byte for byte as the gateway asks, killed, stopped, slowed and
// broken. The gateway logs a broken event and goes on; the sentinel then answers 500.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import type { Server } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Verdict } from "../../domain/gateway/verdict.ts"
import { policySettings } from "../../stack/gateway/policy_ports.ts"
import { pluginServer } from "../../stack/plugin/plugin_server.ts"
import { issuerOf, REALM } from "../../stack/realm.ts"
import { tokenSourceOf, userTokens } from "../../stack/token.ts"
import { callPlugin, passThrough, startInstance } from "./gateway_client.ts"
import { type RunningStack, STACK_TEST_MS, startStack } from "./running_stack.ts"

const ROOT = join(import.meta.dir, "../..")
const folder = mkdtempSync(join(tmpdir(), "portolan-gate-"))
const binary = join(folder, "gate")
let stack: RunningStack
let settingsPath: string

beforeAll(async () => {
  stack = await startStack()
  settingsPath = join(folder, "gate.json")
  const realmUrl = issuerOf(stack.state.urls.idp, REALM.name)
  const settings = policySettings(stack.state)
  writeFileSync(settingsPath, JSON.stringify({ settings, realmUrl, webSecret: stack.state.secrets.webClient }))
  const built = Bun.spawnSync(
    [process.execPath, "build", "--compile", "stack/plugin/gate_main.ts", "--outfile", binary],
    { cwd: ROOT },
  )
  expect(built.exitCode).toBe(0)
}, STACK_TEST_MS)

afterAll(async () => {
  await stack.stop()
  rmSync(folder, { recursive: true, force: true })
}, STACK_TEST_MS)

const startGate = async (name: string) => {
  const socket = join(folder, name)
  const gate = Bun.spawn([binary, "serve", socket, settingsPath], { stdio: ["ignore", "ignore", "inherit"], env: {} })
  while (gate.exitCode === null) {
    const answer = await callPlugin(socket, 31, new Uint8Array()).catch(() => undefined)
    if (answer !== undefined) return { socket, gate }
    await Bun.sleep(20)
  }
  throw new Error("the plugin server ended")
}

describe("the binary", () => {
  let started: Awaited<ReturnType<typeof startGate>>
  beforeAll(async () => {
    started = await startGate("gate.socket")
  }, STACK_TEST_MS)
  afterAll(() => started.gate.kill())

  const pass = (target: string, headers: Record<string, string> = {}) =>
    passThrough(started.socket, { target, headers: { host: "gateway.example", ...headers } })

  test("tells the gateway what it is", () => {
    const dump = Bun.spawnSync([binary, "-dump"], { env: {} })
    expect(JSON.parse(dump.stdout.toString())).toMatchObject({
      Protocol: "ProtoBuf:1",
      Plugins: [{ Name: "portolan-gate", Phases: ["access"], Schema: { name: "portolan-gate" } }],
    })
  })

  test("answers everything the gateway may call", async () => {
    expect(await startInstance(started.socket)).toBe(1)
    expect(await startInstance(started.socket)).toBe(2)
    for (const command of [31, 32, 34, 35])
      expect((await callPlugin(started.socket, command, new Uint8Array())).has(1)).toBe(true)
  })

  test("the same answers as the embedded gateway", async () => {
    const { access = "", id = "" } = await userTokens(tokenSourceOf(stack.state))
    for (const [target, token, status] of [
      ["/open/allowed", undefined, 200],
      ["/open/allowed?x=1", undefined, 200],
      ["/open/secret", undefined, 403],
      ["/open/allowed/../secret", undefined, 403],
      ["/open/allowed/%2e%2e/secret", undefined, 403],
      ["/open/allowed%2f..%2fsecret", undefined, 403],
      ["/api/x", undefined, 401],
      ["/api/x", id, 200],
      ["/api/x", access, 401],
      ["/api-access/x", access, 200],
      ["/api-access/x", id, 401],
      ["/oidc/x", undefined, 302],
      ["/jwt/x", access, 404],
      ["/nothing", undefined, 404],
    ] as const) {
      const { status: got, upstream } = await pass(
        target,
        token === undefined ? {} : { authorization: `Bearer ${token}` },
      )
      expect([target, got, upstream !== undefined]).toEqual([target, status, status === 200])
    }
  })

  test("the upstream sees the path that was judged, and only the gateway's word on who asks", async () => {
    const { id = "" } = await userTokens(tokenSourceOf(stack.state))
    const { upstream } = await pass("/api/%78", {
      authorization: `Bearer ${id}`,
      "x-userinfo": "spoofed",
      "x-consumer-anything": "spoofed",
      cookie: "a=b; portolan_session=x",
    })
    expect(upstream?.path).toBe("/x")
    expect(upstream?.headers.get("cookie")).toBe("a=b")
    expect([...(upstream?.headers.values() ?? [])].join()).not.toContain("spoofed")
    expect(upstream?.headers.get("x-credential-identifier")).toBe(REALM.user.id)
  })

  test("a redirect carries its cookies", async () => {
    const { headers } = await pass("/oidc/x")
    expect(String(headers["location"])).toStartWith(stack.state.urls.idp)
    expect(String(headers["set-cookie"])).toStartWith("portolan_login=")
  })

  test("an instance from before a restart is as good as a new one", async () => {
    expect((await passThrough(started.socket, { target: "/open/secret", headers: { host: "h" } }, 999)).status).toBe(
      403,
    )
    expect((await passThrough(started.socket, { target: "/open/allowed", headers: { host: "h" } }, 999)).status).toBe(
      200,
    )
  })
})

test(
  "killed: 500 and never the upstream",
  async () => {
    const { socket, gate } = await startGate("killed.socket")
    gate.kill("SIGKILL")
    await gate.exited
    expect(await passThrough(socket, { target: "/open/allowed" })).toMatchObject({ status: 500 })
  },
  STACK_TEST_MS,
)

test(
  "stopped: 500 and never the upstream, and it answers again once it goes on",
  async () => {
    const { socket, gate } = await startGate("stopped.socket")
    gate.kill("SIGSTOP")
    const held = await passThrough(socket, { target: "/open/allowed", headers: { host: "h" } })
    expect([held.status, held.upstream]).toEqual([500, undefined])
    gate.kill("SIGCONT")
    expect((await passThrough(socket, { target: "/open/allowed", headers: { host: "h" } })).status).toBe(200)
    gate.kill()
  },
  STACK_TEST_MS,
)

test("no socket: 500 and never the upstream", async () => {
  expect((await passThrough(join(folder, "missing.socket"), { target: "/open/allowed" })).status).toBe(500)
})

describe("a plugin server whose policies misbehave", () => {
  let server: Server | undefined
  const withPolicy = async (name: string, decide: () => Promise<Verdict>): Promise<string> => {
    const socket = join(folder, name)
    server = pluginServer({ decide, publicUrl: "http://gateway.example" })
    await new Promise<void>((resolve) => server?.listen(socket, resolve))
    return socket
  }

  for (const [name, decide] of [
    ["throws", () => Promise.reject(new Error("broken"))],
    [
      "throws at once",
      () => {
        throw new Error("broken")
      },
    ],
    ["never answers", () => new Promise<Verdict>(() => {})],
    ["answers nonsense", () => Promise.resolve({ kind: "perhaps" } as unknown as Verdict)],
  ] as const)
    test(`${name}: 500 and never the upstream`, async () => {
      const socket = await withPolicy(name.replaceAll(" ", "_"), decide)
      const { status, upstream } = await passThrough(socket, { target: "/open/allowed", headers: { host: "h" } })
      expect([status, upstream]).toEqual([500, undefined])
      server?.close()
    })

  for (const [name, bytes] of [
    ["a frame of 4 GB", [0xff, 0xff, 0xff, 0xff]],
    ["no message", [3, 0, 0, 0, 0xff, 0xff, 0xff]],
    ["half a frame", [9, 0, 0, 0, 1]],
  ] as const)
    test(`${name} breaks its own connection and nothing else`, async () => {
      const socket = await withPolicy(`bytes_${bytes.length}_${bytes[0]}`, () => Promise.reject(new Error("not asked")))
      const connection = await Bun.connect({
        unix: socket,
        socket: { data: () => {}, open: (s) => void s.write(Uint8Array.from(bytes)) },
      })
      await Bun.sleep(30)
      connection.end()
      expect(await startInstance(socket)).toBe(1)
      server?.close()
    })
})
