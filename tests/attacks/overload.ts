// More requests than the service can answer: bun tests/attacks/overload.ts [seconds]
// Finds the rate that it keeps up with, sends three times that, and prints what became of the requests, the memory, and how
// long it took until answers came as before. Exit 1 when a request got anything but its answer or a 503 with Retry-After.
import { closedLoad, type LoadOutcome, openLoad, quantile, type Requests } from "../support/open_load.ts"
import { forgetPeak, memoryOf } from "../support/process_figures.ts"
import { callerHeaders, endProcesses, serve } from "../support/service_process.ts"

const SECONDS = Number(process.argv[2] ?? 15)
const TIMES = 3
const MAX_IN_FLIGHT = 256
const CONNECTIONS_MAX = 2_000

/** Growth that is allowed: connections and answers under way need memory, but no more of it as time goes on. */
const GROWTH_MAX = 192 * 2 ** 20
const LATE_GROWTH_MAX = 48 * 2 ** 20
const NORMAL_WITHIN_S = 10

/** Time an agent takes for each answer, milliseconds. The client has 32 requests to it under way at most. */
const AGENT_MS = 100

const agent = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async () => {
    await Bun.sleep(AGENT_MS)
    return Response.json({ ID: "cam-1", Name: "cam-1", Type: "service", Priority: 50, TaskGroups: [] })
  },
})

const service = await serve({
  MAX_IN_FLIGHT: String(MAX_IN_FLIGHT),
  SCHEDULER_URL: agent.url.origin,
  SCHEDULER_ROLES: "user",
})

const headers = callerHeaders()
const create = JSON.stringify({ name: "a".repeat(200) })
const loads: ReadonlyArray<readonly [name: string, requests: Requests]> = [
  ["a slow agent", { url: service.address, method: "GET", path: "/scheduler/jobs/cam-1", headers }],
  ["durable creates", { url: service.address, method: "POST", path: "/api/products", headers, body: create }],
]

const print = (line: string) => process.stdout.write(`${line}\n`)
const mb = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MB`
const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`

/** Seconds until ten requests in a row are answered as fast as nine of ten were before, or `NaN`. */
const untilNormal = async (requests: Requests, usualMs: number): Promise<number> => {
  const startedAt = performance.now()
  const elapsed = () => (performance.now() - startedAt) / 1000
  while (elapsed() < NORMAL_WITHIN_S) {
    const probe = await closedLoad(requests, 1, Math.max(0.2, (usualMs * 10) / 1000))
    const succeeded = [...probe.answers.keys()].every((status) => status < 300)
    if (succeeded && quantile(probe.latenciesMs, 0.5) <= 2 * usualMs) return elapsed()
  }
  return Number.NaN
}

const sum = ({ answers }: LoadOutcome, which: (status: number) => boolean) =>
  [...answers].reduce((total, [status, count]) => total + (which(status) ? count : 0), 0)

const measure = async (name: string, requests: Requests) => {
  await closedLoad(requests, 64, 2)
  const quiet = await closedLoad(requests, 1, 2)
  const usualMs = quantile(quiet.latenciesMs, 0.9)
  const sustained = await closedLoad(requests, 64, 3)
  const rate = sum(sustained, (status) => status < 300) / sustained.seconds
  const before = memoryOf(service.pid)
  forgetPeak(service.pid)
  const samples: Array<number> = []
  const outcome = await openLoad(requests, TIMES * rate, CONNECTIONS_MAX, SECONDS, () =>
    samples.push(memoryOf(service.pid)),
  )
  const middle = Math.floor(samples.length / 2)
  const [early, late] = [Math.max(...samples.slice(0, middle)), Math.max(...samples.slice(middle))]
  const [peak, normalAfter] = [memoryOf(service.pid, "VmHWM"), await untilNormal(requests, usualMs)]
  await Bun.sleep(3_000)
  const [all, answered, shed] = [sum(outcome, () => true), sum(outcome, (s) => s < 300), sum(outcome, (s) => s === 503)]
  const broken =
    answered + shed < all ||
    outcome.broken > 0 ||
    outcome.withRetryAfter < shed ||
    shed === 0 ||
    peak - before > GROWTH_MAX ||
    late - early > LATE_GROWTH_MAX ||
    Number.isNaN(normalAfter)
  if (broken) process.exitCode = 1
  const lines = [
    `${broken ? "BROKEN" : "held  "}  ${name}: ${rate.toFixed(0)}/s sustained, ${(all / SECONDS).toFixed(0)}/s sent for ${SECONDS} s`,
    `answered ${percent(answered, all)} (${(answered / SECONDS).toFixed(0)}/s), median ${quantile(outcome.latenciesMs, 0.5).toFixed(0)} ms, 99 % within ${quantile(outcome.latenciesMs, 0.99).toFixed(0)} ms; alone ${usualMs.toFixed(0)} ms`,
    `503 ${percent(shed, all)}, with Retry-After ${percent(outcome.withRetryAfter, shed)} of them`,
    `other answers ${all - answered - shed}, no answer ${outcome.broken}, no connection free ${outcome.unsent}`,
    `memory before ${mb(before)}, most in the first half ${mb(early)}, in the second ${mb(late)}, after ${mb(memoryOf(service.pid))}; as before after ${normalAfter.toFixed(1)} s`,
  ]
  print(lines.join("\n        "))
}

try {
  for (const [name, requests] of loads) await measure(name, requests)
} finally {
  agent.stop(true)
  await endProcesses()
}
