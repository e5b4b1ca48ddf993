// Records: what a request costs the product and its peers.
//
// Usage: bun run bench:records [--rounds 5] [--seconds 3] [--only get,tokens,list100,list1000,create,start]
//                              [--peers elysia,fastify,hono,gin,bun] [--json]
//
// Prints one table per load. First stands the processor time of the server per request: user and system time of its
// process over the requests that wrk counted. A noisy machine changes it less than the throughput, which stands second. All servers
// take turns in one run, and every number is the median of its rounds. Aims are about processor time; a line that misses
// its aim is marked SHORT, and nothing fails because of a time. A server that gives a wrong answer ends the run before
// anything is measured. The tables (with --json one object instead) go to stdout, progress to stderr. Linux only.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { type Load, median, putLoad, type ServerProcess } from "./load.ts"
import { processorTimeOf } from "./processor_time.ts"
import {
  acceptedToken,
  FIELDS,
  type RecordServer,
  type RecordServerName,
  recordServers,
  startFilledAndProved,
  startToFirstRecord,
} from "./record_servers.ts"

type Aims = Partial<Readonly<Record<RecordServerName, number>>>

interface Plan {
  readonly name: string
  readonly title: string
  readonly load: Pick<Load, "path" | "connections" | "token" | "body">
  /** How many times as cheap as a peer, by processor time, the product is to be. */
  readonly aims: Aims
}

interface Row {
  readonly server: string
  /** Processor time per request, microseconds. */
  readonly microseconds: number
  readonly perSecond: number
  /** How many times the processor time of the product it takes. */
  readonly timesAsCheap: number
  /** How many times its throughput the product has. */
  readonly timesAsFast: number
  readonly aim?: number
  readonly held?: boolean
}

interface StartRow {
  readonly server: string
  readonly milliseconds: number
  /** How many times this server's time the product takes. */
  readonly timesAsLong: number
  readonly atMost?: number
  readonly held?: boolean
}

const TOKENS = 2000
const CONNECTIONS = 64
const WARM_UP_SECONDS = 1
const START = { name: "start", aims: { "elysia-bare": 3 } as Aims }

const token = acceptedToken()
const GET_AIMS: Aims = { elysia: 0.9, fastify: 2.5, gin: 1.5 }
const PLANS: ReadonlyArray<Plan> = [
  {
    name: "get",
    title: "GET by id, the same token",
    load: { path: "/api/products/7", connections: CONNECTIONS, token },
    aims: GET_AIMS,
  },
  {
    name: "tokens",
    title: `GET by id, ${TOKENS} tokens in turn`,
    load: { path: "/api/products/7", connections: CONNECTIONS, token: Array.from({ length: TOKENS }, acceptedToken) },
    aims: GET_AIMS,
  },
  {
    name: "list100",
    title: "List of 100",
    load: { path: "/api/products?limit=100", connections: CONNECTIONS, token },
    aims: { elysia: 1.5 },
  },
  {
    name: "list1000",
    title: "List of 1000",
    load: { path: "/api/products?limit=1000", connections: 16, token },
    aims: { elysia: 2 },
  },
  // Last, because it changes what the stores hold.
  {
    name: "create",
    title: `Durable create at ${CONNECTIONS} connections`,
    load: { path: "/api/products", connections: CONNECTIONS, token, body: JSON.stringify(FIELDS) },
    aims: { elysia: 4, gin: 2 },
  },
]

const LOADS = [...PLANS.map(({ name }) => name), START.name]
const PEERS = ["elysia", "fastify", "hono", "gin", "bun"]

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    only: { type: "string", default: LOADS.join(",") },
    peers: { type: "string", default: PEERS.join(",") },
    json: { type: "boolean", default: false },
  },
})

const chosen = (option: string, names: string, known: ReadonlyArray<string>): ReadonlyArray<string> => {
  const strange = names.split(",").filter((name) => !known.includes(name))
  if (strange.length > 0) throw new Error(`--${option} ${strange}: must be of ${known.join(", ")}`)
  return names.split(",")
}

const positive = (option: string, text: string): number => {
  if (!(Number(text) > 0)) throw new Error(`--${option} must be above 0`)
  return Number(text)
}

const rounds = positive("rounds", options.rounds)
const seconds = positive("seconds", options.seconds)
const loads = chosen("only", options.only, LOADS)
const peers = chosen("peers", options.peers, PEERS)

const folder = mkdtempSync(join(tmpdir(), "portolan-bench-"))
const note = (line: string) => process.stderr.write(`${line}\n`)
const print = (text: string) => options.json || process.stdout.write(`${text}\n`)

/** A server that runs and gave the right answers. */
interface Proved {
  readonly server: RecordServer
  readonly running: ServerProcess
}

/** Lets every server take its turn, round by round; gives what each measured, in the order of the servers. */
const inTurn = async <S, A>(
  name: string,
  servers: ReadonlyArray<S>,
  measure: (server: S) => Promise<A>,
): Promise<ReadonlyArray<readonly [S, ReadonlyArray<A>]>> => {
  const taken = servers.map((server) => [server, [] as A[]] as const)
  for (let round = 1; round <= rounds; round++) {
    note(`${name}: round ${round} of ${rounds}`)
    for (const [server, values] of taken) values.push(await measure(server))
  }
  return taken
}

/** One server under one load: microseconds of processor time per request, and requests per second. */
const cost = async ({ running }: Proved, load: Plan["load"], duration: number) => {
  const before = processorTimeOf(running.pid)
  const { requests, perSecond } = await putLoad(running, { ...load, seconds: duration }, folder)
  return { microseconds: (processorTimeOf(running.pid) - before) / requests, perSecond }
}

const measureLoad = async ({ name, load, aims }: Plan, proved: ReadonlyArray<Proved>): Promise<ReadonlyArray<Row>> => {
  const isById = load.path.startsWith("/api/products/")
  const able = proved.filter(({ server }) => server.kind === "full" || (server.kind === "fixed" && isById))
  for (const each of able) await cost(each, load, WARM_UP_SECONDS)
  const medians = (await inTurn(name, able, (each) => cost(each, load, seconds))).map(([{ server }, costs]) => ({
    server,
    microseconds: median(costs.map((each) => each.microseconds)),
    perSecond: median(costs.map((each) => each.perSecond)),
  }))
  const ours = medians.find(({ server }) => server.name === "portolan") ?? { microseconds: 0, perSecond: 0 }
  return medians.map(({ server, microseconds, perSecond }) => {
    const timesAsCheap = microseconds / ours.microseconds
    const timesAsFast = ours.perSecond / perSecond
    const aim = aims[server.name]
    const verdict = aim === undefined ? {} : { aim, held: timesAsCheap >= aim }
    return { server: server.title, microseconds, timesAsCheap, ...verdict, perSecond, timesAsFast }
  })
}

const measureStarts = async (servers: ReadonlyArray<RecordServer>): Promise<ReadonlyArray<StartRow>> => {
  const medians = (
    await inTurn(START.name, servers, async (server) => {
      const running = await startToFirstRecord(server, token)
      await running.stop()
      return running.startedInMs
    })
  ).map(([server, times]) => ({ server, milliseconds: median(times) }))
  const ours = medians.find(({ server }) => server.name === "portolan")?.milliseconds ?? 0
  return medians.map(({ server, milliseconds }) => {
    const [timesAsLong, atMost] = [ours / milliseconds, START.aims[server.name]]
    const verdict = atMost === undefined ? {} : { atMost, held: timesAsLong <= atMost }
    return { server: server.title, milliseconds, timesAsLong, ...verdict }
  })
}

const verdictOf = (aim: string, held: boolean | undefined): string =>
  held === undefined ? "| " : `${aim} | ${held ? "held" : "SHORT"}`

const loadTable = (title: string, rows: ReadonlyArray<Row>): string =>
  [
    `\n### ${title}\n`,
    "| Server | µs of processor time a request | Portolan is x as cheap | aim | | requests/s | Portolan is x as fast |",
    "|---|---|---|---|---|---|---|",
    ...rows.map(({ server, microseconds, timesAsCheap, aim, held, perSecond, timesAsFast }) => {
      const cheap = `${microseconds.toFixed(1)} | ${timesAsCheap.toFixed(2)} | ${verdictOf(`${aim}`, held)}`
      return `| ${server} | ${cheap} | ${Math.round(perSecond)} | ${timesAsFast.toFixed(2)} |`
    }),
  ].join("\n")

const startTable = (rows: ReadonlyArray<StartRow>): string =>
  [
    "\n### First answer after start\n",
    "| Server | ms to the first record | Portolan takes x as long | aim | |\n|---|---|---|---|---|",
    ...rows.map(({ server, milliseconds, timesAsLong, atMost, held }) => {
      const long = `${timesAsLong.toFixed(2)} | ${verdictOf(`at most ${atMost}`, held)}`
      return `| ${server} | ${Math.round(milliseconds)} | ${long} |`
    }),
  ].join("\n")

/** Puts the peers into the folder of this run, and gives the servers that were chosen. */
const prepare = async (): Promise<ReadonlyArray<RecordServer>> => {
  const installed = Bun.spawnSync([join(import.meta.dir, "install.sh"), join(folder, "peers")], {
    stdio: ["ignore", "inherit", "inherit"],
  })
  if (!installed.success) throw new Error("install.sh failed")
  const servers = await recordServers(folder, join(folder, "peers"))
  return servers.filter(({ name }) => !PEERS.includes(name) || peers.includes(name))
}

const proved: Array<Proved> = []
const stopAll = () => Promise.all(proved.splice(0).map(({ running }) => running.stop()))
const cleanUp = async () => {
  await stopAll()
  rmSync(folder, { recursive: true, force: true })
}
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void cleanUp().then(() => process.exit(1)))
try {
  const servers = await prepare()
  for (const server of servers) {
    note(`${server.name}: starts, is filled, is proved`)
    proved.push({ server, running: await startFilledAndProved(server, token) })
  }
  print(`${rounds} rounds of ${seconds} s, in turn, medians`)
  const results: Record<string, ReadonlyArray<Row | StartRow>> = {}
  for (const plan of PLANS.filter(({ name }) => loads.includes(name))) {
    const rows = await measureLoad(plan, proved)
    results[plan.name] = rows
    print(loadTable(plan.title, rows))
  }
  // A server that still works off its load would share the processors with a start.
  await stopAll()
  if (loads.includes(START.name)) {
    const rows = await measureStarts(servers)
    results[START.name] = rows
    print(startTable(rows))
  }
  if (options.json) process.stdout.write(`${JSON.stringify({ rounds, seconds, results }, undefined, 2)}\n`)
} finally {
  await cleanUp()
}
