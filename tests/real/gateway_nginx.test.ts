// The generated Lua in real nginx, before a plugin server that is absent, dead, stopped or silent: every request is answered
// soon, and none reaches the upstream unjudged.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { createServer as createHttpServer } from "node:http"
import { createServer, type Server } from "node:net"
import { Effect } from "effect"
import { routesOf } from "../../domain/gateway/route_profile.ts"
import type { Verdict } from "../../domain/gateway/verdict.ts"
import { pluginServer } from "../../stack/plugin/plugin_server.ts"
import { waitUntilReady } from "../../stack/readiness.ts"
import type { StackState } from "../../stack/state.ts"
import { serveOn } from "../stack/local_gateway.ts"
import { STACK_TEST_MS } from "../stack/running_stack.ts"
import { type NginxGateway, type NginxStack, startNginxStack } from "../support/nginx_stack.ts"
import { listens, type PluginProcess } from "../support/plugin_process.ts"
import { NGINX, realSuite } from "../support/real_servers.ts"

/** Milliseconds in which every request must be answered. */
const ANSWERED_MS = 6000
const ROUNDS = 100
const CHAOS_MS = 900_000

const ROUTES = routesOf("3.9", "standard").map(({ prefix }) => `${prefix}/allowed`)

realSuite(NGINX, "the generated Lua in real nginx, and a plugin server that fails", (server) => {
  let started: NginxStack
  let nginx: NginxGateway
  beforeAll(async () => {
    started = await startNginxStack(server, "gate")
    nginx = await started.gatewayWith()
  }, STACK_TEST_MS)
  afterAll(() => started.stop(), STACK_TEST_MS)

  const listening = (other: Server): Promise<Server> =>
    new Promise((resolve) => {
      const at = started.plugin.socketPath(`other-${Math.random()}`)
      other.listen(at, () => resolve(other))
    })
  const before = async (other: Server) => {
    const { ask } = await started.gatewayWith({ socket: (await listening(other)).address() as string })
    return ask
  }

  const refusesAll = async (withinMs: number) => {
    for (const route of [...ROUTES, "/"]) {
      const { statuses, body, ms } = await nginx.ask(route)
      expect([route, statuses, body]).toEqual([route, "503", '{"message":"authorization is not available"}'])
      expect(ms).toBeLessThan(withinMs)
    }
  }

  test(
    "no socket, a socket nobody listens on, a stopped server: 503; and every route works once it is there",
    async () => {
      await refusesAll(ANSWERED_MS)
      writeFileSync(started.socket, "")
      await refusesAll(ANSWERED_MS)
      const first = started.startPlugin()
      await nginx.until("/", "404")
      first.kill("SIGKILL")
      await first.exited
      await refusesAll(ANSWERED_MS)
      const second = started.startPlugin()
      await nginx.until("/", "404")
      second.kill("SIGSTOP")
      await refusesAll(ANSWERED_MS)
      second.kill("SIGCONT")
      for (const [route, status] of [
        ["/open/allowed", "200"],
        ["/open/secret", "403"],
        ["/oidc/x", "302"],
        ["/api/x", "401"],
        ["/api-access/x", "401"],
      ] as const)
        await nginx.until(route, status)
      second.kill("SIGKILL")
      await second.exited
    },
    STACK_TEST_MS * 2,
  )

  test(
    "without the guard the played Kong 2.8 never gives the route back, as the real one does",
    async () => {
      const bare = await started.gatewayWith({ guarded: false, socket: started.plugin.socketPath("bare") })
      const workers = new Set<string>()
      while (workers.size < 2) {
        const { statuses, head } = await bare.ask("/open/allowed?first_use=bare")
        if (statuses === "timeout") break
        expect(statuses).toBe("500")
        workers.add(/x-portolan-worker: (\d)/i.exec(head)?.[1] ?? "")
      }
      const plugin = started.plugin.start(started.plugin.socketPath("bare"))
      try {
        await listens(plugin)
        expect((await bare.ask("/open/allowed?first_use=other")).statuses).toBe("200")
        // A request goes to either worker, and perhaps only one of them was asked while no server was there.
        const asked = new Set<string>()
        for (let time = 0; time < 20 && !asked.has("timeout"); time++)
          asked.add((await bare.ask("/open/allowed?first_use=bare")).statuses)
        expect(asked).toContain("timeout")
      } finally {
        plugin.kill("SIGKILL")
        await plugin.exited
      }
    },
    STACK_TEST_MS * 2,
  )

  test(
    "a server that answers the guard and never judges costs 5 s and 500",
    async () => {
      const ask = await before(
        pluginServer({ decide: () => new Promise<Verdict>(() => {}), publicUrl: "http://h", say: () => {} }),
      )
      const { statuses, ms } = await ask("/open/allowed")
      expect(statuses).toBe("500")
      expect(ms).toBeGreaterThan(4500)
      expect(ms).toBeLessThan(ANSWERED_MS * 2)
    },
    STACK_TEST_MS,
  )

  for (const [name, other] of [
    ["closes every connection", () => createServer((socket) => socket.destroy())],
    ["accepts and says nothing", () => createServer(() => {})],
    ["says half a length", () => createServer((socket) => socket.write("ab"))],
  ] as const)
    test(`a server that ${name}: 503`, async () => {
      const ask = await before(other())
      const { statuses, ms } = await ask("/open/allowed")
      expect(statuses).toBe("503")
      expect(ms).toBeLessThan(ANSWERED_MS)
    })

  test(
    "readiness waits for the plugin server, and then asks every route on every worker",
    async () => {
      const fresh = await started.gatewayWith({ socket: started.plugin.socketPath("ready") })
      const { state } = started.stack
      const asIfDocker: StackState = {
        ...state,
        options: { ...state.options, engine: "docker" },
        urls: { ...state.urls, proxy: fresh.url },
      }
      const said: Array<string> = []
      const ready = Effect.runPromise(
        waitUntilReady(started.stack.home, asIfDocker, STACK_TEST_MS, (line) => said.push(line)),
      )
      while (!said.some((line) => line.includes("/ answers 503"))) await Bun.sleep(20)
      expect(fresh.asked().filter((line) => !/^\d+ \/ 503$/.test(line))).toEqual([])
      const plugin = started.plugin.start(started.plugin.socketPath("ready"))
      await ready
      plugin.kill("SIGKILL")
      await plugin.exited
      const asked = new Set(fresh.asked().filter((line) => !/ 503$/.test(line)))
      expect(new Set([...asked].map((line) => line.split(" ")[0])).size).toBe(2)
      expect([...asked].map((line) => line.replace(/^\d+ /, "")).sort()).toEqual(
        [
          "/ 404",
          "/open/allowed 200",
          "/open/secret 403",
          "/oidc/canary 302",
          "/api/canary 401",
          "/api-access/canary 401",
        ]
          .flatMap((line) => [line, line])
          .sort(),
      )
    },
    STACK_TEST_MS * 2,
  )

  test(
    `killed and stopped ${ROUNDS} times each, before and after first use`,
    async () => {
      const reached: Array<string> = []
      const upstream = createHttpServer((request, response) => {
        reached.push(`${request.url} ${request.headers["x-userinfo"] ?? ""}`)
        response.end()
      })
      const socket = started.plugin.socketPath("chaos")
      const gateway = await started.gatewayWith({
        socket,
        upstreamUrl: await serveOn(upstream),
        // A tenth of the shipped limits, so that the rounds end within minutes.
        answerMs: 200,
        readTimeout: "500ms",
      })
      let plugin: PluginProcess = started.plugin.start(socket)
      let [allowed, slowest] = [0, 0]
      const statuses = new Map<string, number>()
      const burst = (query: string) =>
        ["/open/allowed", "/open/secret", "/open/allowed", "/open/secret"].map(async (path) => {
          const answer = await gateway.ask(`${path}?${query}`, "X-Userinfo: spoofed")
          slowest = Math.max(slowest, answer.ms)
          const outcome = `${path} ${answer.statuses}`
          statuses.set(outcome, (statuses.get(outcome) ?? 0) + 1)
          if (answer.statuses === "200") allowed++
        })
      const recovers = async (query: string) => {
        await gateway.until(`/open/secret?${query}`, "403")
      }
      const faults = {
        killed: {
          begin: () => plugin.kill("SIGKILL"),
          end: async () => {
            await plugin.exited
            plugin = started.plugin.start(socket)
          },
        },
        stopped: { begin: () => plugin.kill("SIGSTOP"), end: async () => plugin.kill("SIGCONT") },
      }
      try {
        await recovers("first_use=known")
        for (const [name, { begin, end }] of Object.entries(faults))
          for (let round = 0; round < ROUNDS; round++) {
            begin()
            await Promise.all(burst(`first_use=${name}${round}`))
            await end()
            await recovers(`first_use=${name}${round}`)
            const asked = burst("first_use=known")
            await Bun.sleep(Math.random() * 4)
            begin()
            await Promise.all([...asked, ...burst("first_use=known")])
            await end()
            await recovers("first_use=known")
          }
      } finally {
        plugin.kill("SIGKILL")
        upstream.close()
      }
      expect([...statuses.keys()].filter((each) => !/allowed (200|500|503)$|secret (403|500|503)$/.test(each))).toEqual(
        [],
      )
      expect(slowest).toBeLessThan(ANSWERED_MS)
      expect(new Set(reached.map((line) => line.replace(/\?.*? /, " ")))).toEqual(new Set(["/allowed "]))
      expect(reached).toHaveLength(allowed)
    },
    CHAOS_MS,
  )
})
