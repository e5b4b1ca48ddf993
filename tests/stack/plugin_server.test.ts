// Our policies as the gateway's plugin server: asked byte for byte as the gateway asks, killed, stopped, slowed and
// broken. The gateway logs a broken event and goes on; the sentinel then answers 500.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { Server } from "node:net"
import type { Verdict } from "../../domain/gateway/verdict.ts"
import { pluginServer } from "../../stack/plugin/plugin_server.ts"
import { REALM } from "../../stack/realm.ts"
import { tokenSourceOf, userTokens } from "../../stack/token.ts"
import { listens, pluginBinary } from "../support/plugin_process.ts"
import { callPlugin, passThrough, startInstance } from "./gateway_client.ts"
import { type RunningStack, STACK_TEST_MS, startStack } from "./running_stack.ts"

let stack: RunningStack
let plugin: ReturnType<typeof pluginBinary>

beforeAll(async () => {
  stack = await startStack()
  plugin = pluginBinary(stack.state)
}, STACK_TEST_MS)

afterAll(async () => {
  await stack.stop()
  plugin.remove()
}, STACK_TEST_MS)

const startGate = async (name: string) => {
  const socket = plugin.socketPath(name)
  const gate = plugin.start(socket)
  await listens(gate)
  return { socket, gate }
}

describe("the binary", () => {
  let started: Awaited<ReturnType<typeof startGate>>
  beforeAll(async () => {
    started = await startGate("gate")
  }, STACK_TEST_MS)
  afterAll(() => started.gate.kill())

  const pass = (target: string, headers: Record<string, string> = {}) =>
    passThrough(started.socket, { target, headers: { host: "gateway.example", ...headers } })

  test("tells the gateway what it is", () => {
    const dump = Bun.spawnSync([plugin.binary, "-dump"], { env: {} })
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

  // A name that came several times is a list (3.9.3; 2.8.5 gets one line from the guard), and bytes are bytes.
  test("repeated lines and bytes that are not UTF-8, as the gateway sends them", async () => {
    const { status, upstream } = await passThrough(started.socket, {
      target: "/open/allowed",
      headers: {
        host: "gateway.example",
        accept: ["a", "b"],
        "x-name": "Jos\xe9",
        "x-names": ["\xff", "\xc3\xa9"],
        "x-empty": "",
        cookie: ["a=b; portolan_session=\xe9", "portolan_login=x", "c=\xe9"],
      },
    })
    expect(status).toBe(200)
    expect(Object.fromEntries(upstream?.headers ?? [])).toEqual({
      host: "gateway.example",
      accept: "a, b",
      "x-name": "Jos\xe9",
      "x-names": "\xff, \xc3\xa9",
      "x-empty": "",
      cookie: "a=b; c=\xe9",
    })
    for (const [target, headers, refused] of [
      ["/open/caf\xe9", { host: "h" }, 400],
      ["/open/secret", { host: "h", "x-name": "Jos\xe9" }, 403],
      ["/open/allowed", { host: ["h", "i"] }, 400],
      ["/open/allowed", { host: "h", authorization: ["Basic a", "Bearer b"] }, 400],
      ["/api/x", { host: "h", authorization: "Bearer \xe9" }, 401],
    ] as const)
      expect([target, (await passThrough(started.socket, { target, headers })).status]).toEqual([target, refused])
  })

  test("what belongs to a connection or to the gateway is cleared, in both spellings", async () => {
    const { upstream } = await pass("/open/allowed", {
      connection: "x-hop, close",
      "x-hop": "1",
      "proxy-authorization": "1",
      proxy_authorization: "1",
      proxy: "1",
      te: "trailers",
      forwarded: "host=e",
      "x-forwarded-for": "1",
      x_forwarded_for: "1",
      "x-forwarded-server": "1",
      x_real_ip: "1",
      "x-portolan-foo": "1",
      "x-kept": "1",
    })
    // nginx writes the lines of the connection anew.
    expect([...(upstream?.headers.keys() ?? [])]).toEqual(["host", "connection", "x-kept"])
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

test("says that it listens, and why an event failed", async () => {
  const said: Array<string> = []
  const socket = plugin.socketPath("saying")
  const server = pluginServer({
    decide: () => Promise.reject(new Error("no policy")),
    publicUrl: "http://gateway.example",
    say: (line) => said.push(line),
  })
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  await passThrough(socket, { target: "/open/allowed", headers: { host: "h" } })
  expect(said).toEqual(["an event failed: no policy"])
  server.close()
})

test(
  "killed: 500 and never the upstream",
  async () => {
    const { socket, gate } = await startGate("killed")
    gate.kill("SIGKILL")
    await gate.exited
    expect(await passThrough(socket, { target: "/open/allowed" })).toMatchObject({ status: 500 })
  },
  STACK_TEST_MS,
)

test(
  "stopped: 500 and never the upstream, and it answers again once it goes on",
  async () => {
    const { socket, gate } = await startGate("stopped")
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
  expect((await passThrough(plugin.socketPath("missing"), { target: "/open/allowed" })).status).toBe(500)
})

describe("a plugin server whose policies misbehave", () => {
  let server: Server | undefined
  const withPolicy = async (name: string, decide: () => Promise<Verdict>): Promise<string> => {
    const socket = plugin.socketPath(name)
    server = pluginServer({ decide, publicUrl: "http://gateway.example", say: () => {} })
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
