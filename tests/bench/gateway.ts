// The embedded gateway beside a bare proxy of the same kind, both on node:http before one upstream.
//
// Usage: bun run bench:gateway [rounds, 5 when absent] [seconds, 3 when absent]
//
// Prints the processor time of the server per request, which a noisy machine changes least, and then the throughput: the two
// take turns in one run, and every number is the median of its rounds. Aims of the bare proxy's processor time: 0.8 for
// /open/allowed, 0.7 for /jwt with a token that is remembered. Linux only.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createStack } from "../../bootstrap/stack.ts"
import { readState } from "../../stack/state.ts"
import { median, putLoad, startServer } from "./load.ts"
import { processorTimeOf } from "./processor_time.ts"

const ROUNDS = Number(process.argv[2] ?? 5)
const SECONDS = Number(process.argv[3] ?? 3)
const CONNECTIONS = 32
const WARM_UP_SECONDS = 1
const AIMS = [
  ["/open/allowed", 0.8],
  ["/jwt/x", 0.7],
] as const

const print = (line: string) => process.stdout.write(`${line}\n`)

const folder = mkdtempSync(join(tmpdir(), "portolan-bench-gateway-"))
const stack = createStack({ home: folder })
const { urls } = await stack.up({ gateway: "2.8", proxyPort: 0, idpPort: 0, upstreamPort: 0 })
const gatewayPid = readState(folder)?.processes.find(({ service }) => service === "gateway")?.pid ?? 0
const bare = await startServer([process.execPath, join(import.meta.dir, "servers/bare_proxy.ts")], {
  UPSTREAM: urls.upstream,
})
const stop = async () => {}
const servers = [{ url: urls.proxy, pid: gatewayPid, stop }, bare]

print(`${ROUNDS} rounds of ${SECONDS} s, ${CONNECTIONS} connections, medians\n`)
print("| Request | Gateway, µs | Bare proxy, µs | Bare / gateway | Aim | Gateway, req/s | Bare proxy, req/s | Ratio |")
print("|---|---|---|---|---|---|---|---|")
try {
  for (const [path, aim] of AIMS) {
    const load = { path, connections: CONNECTIONS, seconds: SECONDS, token: await stack.token("access") }
    for (const server of servers) await putLoad(server, { ...load, seconds: WARM_UP_SECONDS }, folder)
    const measured = servers.map((server) => ({ server, costs: [] as Array<number>, rates: [] as Array<number> }))
    for (let round = 0; round < ROUNDS; round++)
      for (const { server, costs, rates } of measured) {
        const before = processorTimeOf(server.pid)
        const { requests, perSecond } = await putLoad(server, load, folder)
        costs.push((processorTimeOf(server.pid) - before) / requests)
        rates.push(perSecond)
      }
    const [cost = 0, bareCost = 0] = measured.map(({ costs }) => median(costs))
    const [rate = 0, bareRate = 0] = measured.map(({ rates }) => median(rates))
    const held = `${aim}${bareCost / cost < aim ? " SHORT" : ""}`
    const row = [path, cost.toFixed(1), bareCost.toFixed(1), (bareCost / cost).toFixed(2), held]
    print(`| ${[...row, Math.round(rate), Math.round(bareRate), (rate / bareRate).toFixed(2)].join(" | ")} |`)
  }
} finally {
  await bare.stop()
  await stack.down()
  rmSync(folder, { recursive: true })
}
