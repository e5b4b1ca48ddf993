// Records: the service beside a bare Bun.serve that gives the same bytes without any check, and beside Fastify with
// @fastify/jwt on Node. One run, the three in turn, medians. Usage: bun run bench:records [rounds] [seconds]
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { KEYS, pemOf, tokenKit } from "../support/tokens.ts"
import { firstAnswer, type Load, median, requestsPerSecond, type Server, startServer } from "./load.ts"

const ROUNDS = Number(process.argv[2] ?? 5)
const SECONDS = Number(process.argv[3] ?? 3)
const ROOT = join(import.meta.dir, "../..")
const print = (line: string) => process.stdout.write(`${line}\n`)

const folder = mkdtempSync(join(tmpdir(), "portolan-bench-"))
const key = pemOf(KEYS.realm().publicKey)
const token = tokenKit(Math.floor(Date.now() / 1000)).access({ exp: Math.floor(Date.now() / 1000) + 36_000 })
const authorization = { authorization: `Bearer ${token}` }
const keyFile = join(folder, "key.pem")
await Bun.write(keyFile, key)

const installed = Bun.spawnSync([join(import.meta.dir, "install.sh")], { stdio: ["ignore", "pipe", "inherit"] })
if (!installed.success) process.exit(1)
const peers = installed.stdout.toString().trim()

// Access log off on all sides: neither the bare server nor the peer writes one.
const SERVICE = [process.execPath, join(ROOT, "bootstrap/main.ts"), "serve"]
const serviceEnv = { AUTH_PUBLIC_KEY: key, PORTOLAN_HOME: folder, LOG_LEVEL: "warn", LOG_FORMAT: "json" }
const fastifyEnv = { PEERS: peers, KEY_FILE: keyFile, NODE_ENV: "production" }
const RECORD = '{"name":"Anchor chain","price":12.5}'

// Before any load: neither servers nor their leftovers share the processors with a start.
const starts: Array<number> = []
for (let round = 0; round < ROUNDS; round++) {
  const port = 20_000 + Math.floor(Math.random() * 20_000)
  const startedAt = performance.now()
  const child = Bun.spawn(SERVICE, {
    env: { ...process.env, ...serviceEnv, PORT: String(port) },
    stdio: ["ignore", "ignore", "ignore"],
  })
  await firstAnswer(`http://127.0.0.1:${port}`)
  starts.push(performance.now() - startedAt)
  child.kill()
  await child.exited
}
print(`First answer after start, from source: ${Math.round(median(starts))} ms (median of ${ROUNDS})\n`)

const service = await startServer(SERVICE, serviceEnv)
for (let from = 0; from < 1000; from += 50)
  await Promise.all(
    Array.from({ length: 50 }, () =>
      fetch(`${service.url}/api/products`, {
        method: "POST",
        headers: { ...authorization, "content-type": "application/json" },
        body: RECORD,
      }),
    ),
  )
const fastify = await startServer(["node", join(import.meta.dir, "servers/fastify.mjs")], fastifyEnv)

/** A bare server that gives what the service gives for this request. */
const bareFor = async (name: string, sample: Response): Promise<Server> => {
  const file = join(folder, `${name}.json`)
  await Bun.write(file, await sample.text())
  return startServer([process.execPath, join(import.meta.dir, "servers/bare.ts")], {
    BODY_FILE: file,
    STATUS: String(sample.status),
  })
}

const CASES: ReadonlyArray<{ readonly name: string; readonly load: Pick<Load, "path" | "connections" | "body"> }> = [
  { name: "GET by id", load: { path: "/api/products/1", connections: 64 } },
  { name: "GET list of 1000", load: { path: "/api/products?limit=1000", connections: 64 } },
  { name: "POST, durable", load: { path: "/api/products", connections: 64, body: RECORD } },
]

print(`| Request | Portolan, requests/s | of bare Bun.serve | of Fastify + @fastify/jwt |\n|---|---|---|---|`)
for (const { name, load } of CASES) {
  const sample = await fetch(`${service.url}${load.path}`, {
    headers: { ...authorization, "content-type": "application/json" },
    ...(load.body === undefined ? {} : { method: "POST", body: load.body }),
  })
  const bare = await bareFor(name.replaceAll(/\W/g, "_"), sample)
  const rates: Record<"service" | "bare" | "fastify", Array<number>> = { service: [], bare: [], fastify: [] }
  for (let round = 0; round < ROUNDS; round++)
    for (const [who, server] of [
      ["service", service],
      ["bare", bare],
      ["fastify", fastify],
    ] as const)
      rates[who].push(await requestsPerSecond(server, { ...load, seconds: SECONDS, token }, folder))
  await bare.stop()
  const ours = median(rates.service)
  print(
    `| ${name} | ${Math.round(ours)} | ${(ours / median(rates.bare)).toFixed(2)} | ${(ours / median(rates.fastify)).toFixed(2)} |`,
  )
}
await fastify.stop()
await service.stop()
rmSync(folder, { recursive: true })
