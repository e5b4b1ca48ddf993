// Clients that are slow, deaf or forged, beside a good one: bun tests/attacks/slow_clients.ts [connections] [seconds]
// Prints a line per kind: what the good client saw, and memory and descriptors of the service before, during and after.
// Exit 1 when the good client saw an error, or when the service does not give back what it took.
import { HOSTILE_KINDS, type HostileKind, openHostile, startGoodClient } from "../support/hostile_clients.ts"
import { descriptorsOf, memoryOf } from "../support/process_figures.ts"
import { callerHeaders, endProcesses, serve } from "../support/service_process.ts"
import { jwkOf, KEYS } from "../support/tokens.ts"

const CONNECTIONS = Number(process.argv[2] ?? 2_000)
const SECONDS = Number(process.argv[3] ?? 15)

/** Slow bodies of callers with a token hold places of MAX_IN_FLIGHT, which is 1024: half of them are taken. */
const WITH_PLACES = 512

/** What may stay: the runtime gives memory back late, and its event loop keeps a few descriptors. */
const KEPT_MEMORY_MAX = 64 * 2 ** 20
const KEPT_DESCRIPTORS_MAX = 8
const GIVEN_BACK_WITHIN_S = 30

let keyRequests = 0
const realm = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: () => {
    keyRequests++
    return Response.json({ keys: [{ ...jwkOf(KEYS.realm().publicKey), kid: "realm-key-1", use: "sig", alg: "RS256" }] })
  },
})
const service = await serve({ AUTH_PUBLIC_KEY: "", AUTH_JWKS_URL: `${realm.url.origin}/certs` })
const target = { url: service.address, authorization: callerHeaders()["authorization"] ?? "" }

const mb = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MB`
const now = () => ({ memory: memoryOf(service.pid), descriptors: descriptorsOf(service.pid) })

const measure = async (kind: HostileKind) => {
  const before = now()
  const asked = keyRequests
  const count = kind.name === "slow bodies, a good token" ? Math.min(CONNECTIONS, WITH_PLACES) : CONNECTIONS
  const good = startGoodClient(target)
  const hostile = openHostile(kind, target, count)
  let [most, descriptors] = [0, 0]
  for (let second = 0; second < SECONDS; second++) {
    await Bun.sleep(1_000)
    most = Math.max(most, now().memory)
    descriptors = Math.max(descriptors, now().descriptors)
  }
  const held = hostile.held()
  hostile.close()
  const { requests, errors, slowestMs } = await good.stop()
  const isBack = ({ memory, descriptors }: typeof before) =>
    memory - before.memory <= KEPT_MEMORY_MAX && descriptors - before.descriptors <= KEPT_DESCRIPTORS_MAX
  const endedAt = performance.now()
  while (!isBack(now()) && performance.now() - endedAt < GIVEN_BACK_WITHIN_S * 1_000) await Bun.sleep(500)
  const after = now()
  const broken = errors.length > 0 || !isBack(after)
  if (broken) process.exitCode = 1
  const lines = [
    `${broken ? "BROKEN" : "held  "}  ${kind.name}: ${count} connections for ${SECONDS} s, ${held} still open at their end`,
    `good client: ${requests} requests, ${errors.length} errors ${[...new Set(errors)].join(" ")}, slowest ${slowestMs.toFixed(0)} ms; keys asked for ${keyRequests - asked} times`,
    `memory ${mb(before.memory)}, most ${mb(most)}, after ${mb(after.memory)}; descriptors ${before.descriptors}, most ${descriptors}, after ${after.descriptors}`,
  ]
  process.stdout.write(`${lines.join("\n        ")}\n`)
}

/** A list of a megabyte: the sockets' buffers must not be able to take it. */
const fill = async () => {
  const init = { method: "POST", body: JSON.stringify({ name: "a".repeat(1_000) }), headers: callerHeaders() }
  for (let record = 0; record < 1_000; record += 50)
    await Promise.all(Array.from({ length: 50 }, () => fetch(`${service.address}/api/products`, init)))
}

try {
  await fill()
  const warm = startGoodClient(target)
  await Bun.sleep(2_000)
  await warm.stop()
  for (const kind of HOSTILE_KINDS) await measure(kind)
} finally {
  realm.stop(true)
  await endProcesses()
}
