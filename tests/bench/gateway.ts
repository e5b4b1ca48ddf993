// The embedded gateway beside a bare Bun proxy in front of the same upstream: one run, the two in turn, medians.
// Usage: bun run bench:gateway [rounds] [seconds]. Wanted: 0.7 for /open/allowed, 0.6 for /jwt with a cached token.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createStack } from "../../bootstrap/stack.ts"
import { median, requestsPerSecond, type Server, startServer } from "./load.ts"

const ROUNDS = Number(process.argv[2] ?? 5)
const SECONDS = Number(process.argv[3] ?? 3)
const CONNECTIONS = 32
const print = (line: string) => process.stdout.write(`${line}\n`)

const folder = mkdtempSync(join(tmpdir(), "portolan-bench-gateway-"))
const stack = createStack({ home: folder })
const { urls } = await stack.up({ gateway: "2.8", proxyPort: 0, idpPort: 0, upstreamPort: 0 })
const bare = await startServer([process.execPath, join(import.meta.dir, "servers/bare_proxy.ts")], {
  UPSTREAM: urls.upstream,
})
const gateway: Server = { url: urls.proxy, stop: async () => void (await stack.down()) }

print(`${ROUNDS} rounds of ${SECONDS} s, ${CONNECTIONS} connections, medians\n`)
print("| Request | Gateway, requests/s | Bare proxy, requests/s | Ratio |\n|---|---|---|---|")
for (const path of ["/open/allowed", "/jwt/x"]) {
  const token = await stack.token("access")
  const rates: Record<"gateway" | "bare", Array<number>> = { gateway: [], bare: [] }
  for (let round = 0; round < ROUNDS; round++)
    for (const [who, server] of [
      ["gateway", gateway],
      ["bare", bare],
    ] as const)
      rates[who].push(
        await requestsPerSecond(server, { path, connections: CONNECTIONS, seconds: SECONDS, token }, folder),
      )
  const [ours, theirs] = [median(rates.gateway), median(rates.bare)]
  print(`| ${path} | ${Math.round(ours)} | ${Math.round(theirs)} | ${(ours / theirs).toFixed(2)} |`)
}
await bare.stop()
await gateway.stop()
rmSync(folder, { recursive: true })
