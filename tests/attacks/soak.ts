// Mixed load at a modest rate for a long time: bun tests/attacks/soak.ts [minutes] [requests a second]
// Prints memory and open handles once a minute. Exit 1 when the memory of the last third is not within 10 % of the second's,
// when descriptors or threads grew from the second third to the last, when timers wake the idle service more often than
// before, or when a request got a status it should not get.
import { connect } from "node:net"
import { descriptorsOf, memoryOf, threadsOf, wakeUpsOf } from "../support/process_figures.ts"
import { callerHeaders, endProcesses, serve } from "../support/service_process.ts"

const MINUTES = Number(process.argv[2] ?? 30)
const PER_SECOND = Number(process.argv[3] ?? 40)
const MEMORY_DIFFERENCE_MAX = 0.1

/** A connection or a file that is open just then is no leak. */
const HANDLES_DIFFERENCE_MAX = 5

/** Time over which an idle service's waking is counted, seconds, and how much more often it may wake afterwards. */
const IDLE_S = 10
const WAKE_UPS_DIFFERENCE_MAX = 10

const JOB = { ID: "cam-1", Name: "cam-1", Type: "service", Priority: 50, TaskGroups: [] }
const agent = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json(JOB) })
const service = await serve({ SCHEDULER_URL: agent.url.origin, SCHEDULER_ROLES: "user" })

let token = callerHeaders()
let created = 0
const wrong = new Map<string, number>()
const note = (name: string) => void wrong.set(name, (wrong.get(name) ?? 0) + 1)

const ask = async (name: string, status: number, path: string, init: RequestInit = {}) => {
  try {
    const answer = await fetch(service.address + path, { headers: token, ...init })
    await answer.arrayBuffer()
    if (answer.status !== status) note(`${name}: ${answer.status}`)
    return answer
  } catch (failure) {
    note(`${name}: ${failure instanceof Error ? failure.name : "failed"}`)
    return undefined
  }
}

/** A client that goes away in the middle of its request. */
const leave = () =>
  new Promise<void>((resolve) => {
    const { hostname, port } = new URL(service.address)
    const socket = connect(Number(port), hostname, () => {
      const lines = Object.entries({ ...token, host: "h", "content-length": "100" })
      socket.write(`POST /api/products HTTP/1.1\r\n${lines.map(([n, v]) => `${n}: ${v}\r\n`).join("")}\r\n{`)
      setTimeout(() => socket.destroy(), 50)
    })
    socket.on("error", () => note("leave: no connection"))
    socket.on("close", () => resolve())
  })

/** Creates and deletes in balance, so that the store does not grow. */
const createAndDelete = async () => {
  const answer = await ask("create", 201, "/api/products", { method: "POST", body: '{"name":"anchor","price":12.5}' })
  created++
  if (answer !== undefined) await ask("delete", 200, answer.headers.get("location") ?? "", { method: "DELETE" })
}

/** Every kind of request in turn: most of them ordinary. */
const MIX: ReadonlyArray<() => Promise<unknown>> = [
  createAndDelete,
  () => ask("get", 200, "/api/products/1"),
  () => ask("list", 200, "/api/products?limit=100"),
  () =>
    ask("list with a count", 200, "/api/products?start=5&limit=7", { headers: { ...token, prefer: "count=exact" } }),
  () => ask("job", 200, "/scheduler/jobs/cam-1"),
  () => ask("miss", 404, "/api/products/999999999"),
  () => ask("forged", 401, "/api/products", { headers: { authorization: `Bearer a.${created}.c` } }),
  () => ask("a new token", 200, "/api/products/1", { headers: callerHeaders() }),
  () => ask("broken body", 400, "/api/products", { method: "POST", body: "{" }),
  () => ask("new connection", 200, "/api/products/1", { headers: { ...token, connection: "close" } }),
  () => ask("ready", 200, "/health/ready"),
  () => ask("metrics", 200, "/metrics"),
  leave,
]

const sample = () => ({
  memory: memoryOf(service.pid),
  descriptors: descriptorsOf(service.pid),
  threads: threadsOf(service.pid),
})

/** How often the service wakes in a second while nobody asks it anything. */
const idleWakeUps = async (): Promise<number> => {
  await Bun.sleep(5_000)
  const before = wakeUpsOf(service.pid)
  await Bun.sleep(IDLE_S * 1_000)
  return (wakeUpsOf(service.pid) - before) / IDLE_S
}

const mean = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length
const print = (line: string) => process.stdout.write(`${line}\n`)

try {
  for (let record = 0; record < 200; record++)
    await ask("create", 201, "/api/products", { method: "POST", body: '{"name":"chart"}' })
  const wokeBefore = await idleWakeUps()
  const samples: Array<ReturnType<typeof sample>> = []
  const startedAt = performance.now()
  const endsAt = startedAt + MINUTES * 60_000
  let [sent, nextMinute] = [0, 1]
  while (performance.now() < endsAt) {
    const elapsedS = (performance.now() - startedAt) / 1000
    while (sent < elapsedS * PER_SECOND) void MIX[sent++ % MIX.length]?.()
    samples.push(sample())
    if (elapsedS > nextMinute * 60) {
      token = callerHeaders()
      const { memory, descriptors, threads } = sample()
      print(
        `${nextMinute++} min: ${sent} requests, ${(memory / 2 ** 20).toFixed(0)} MB, ${descriptors} descriptors, ${threads} threads`,
      )
    }
    await Bun.sleep(100)
  }
  const wokeAfter = await idleWakeUps()
  const third = Math.floor(samples.length / 3)
  const [second, last] = [samples.slice(third, 2 * third), samples.slice(2 * third)]
  const compare = (field: keyof ReturnType<typeof sample>) =>
    [mean(second.map((each) => each[field])), mean(last.map((each) => each[field]))] as const
  const [memory, descriptors, threads] = [compare("memory"), compare("descriptors"), compare("threads")]
  const difference = memory[1] / memory[0] - 1
  const grew = (pair: readonly [number, number]) => pair[1] - pair[0] > HANDLES_DIFFERENCE_MAX
  const broken =
    Math.abs(difference) > MEMORY_DIFFERENCE_MAX ||
    grew(descriptors) ||
    grew(threads) ||
    wokeAfter - wokeBefore > WAKE_UPS_DIFFERENCE_MAX ||
    wrong.size > 0
  if (broken) process.exitCode = 1
  print(
    [
      `${broken ? "BROKEN" : "held  "}  ${MINUTES} min, ${sent} requests, wrong: ${wrong.size === 0 ? "none" : [...wrong].map(([name, count]) => `${name} (${count})`).join(", ")}`,
      `memory ${memory.map((each) => `${(each / 2 ** 20).toFixed(1)} MB`).join(" in the second third, ")} in the last: ${(100 * difference).toFixed(1)} %`,
      `descriptors ${descriptors.map((each) => each.toFixed(1)).join(" and ")}, threads ${threads.map((each) => each.toFixed(1)).join(" and ")}`,
      `woken while idle ${wokeBefore.toFixed(1)} times a second before, ${wokeAfter.toFixed(1)} after`,
    ].join("\n        "),
  )
} finally {
  agent.stop(true)
  await endProcesses()
}
