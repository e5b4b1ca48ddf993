// Records: what a request costs the product and its peers.
//
// Usage: bun run bench:records [--rounds 5] [--seconds 3] [--only get,tokens,list100,list1000,create,start]
//                              [--peers elysia,fastify,hono,gin,bun] [--json]
//
// Prints one table per load. First the processor time of the server per request (user and system time of its process
// over the requests that wrk counted), which holds on a noisy machine; second the throughput. All servers run in one
// run, in turn, and the numbers are medians of the rounds. "x" columns say how many times as cheap, or as fast, as that
// peer the product is. A line that misses its aim is marked short; nothing fails because of a time. A server that gives a
// wrong answer ends the run before anything is measured. The tables go to stdout, progress to stderr. Linux only.
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

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    only: { type: "string", default: [...PLANS, START].map(({ name }) => name).join(",") },
    peers: { type: "string" },
    json: { type: "boolean", default: false },
  },
})
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)]
const wanted = values.only.split(",")
const unknown = wanted.filter((name) => ![...PLANS, START].some((each) => each.name === name))
if (unknown.length > 0) throw new Error(`--only: there is no ${unknown.join(", ")}`)
const note = (line: string) => process.stderr.write(`${line}\n`)

/** One server under one load for some seconds: microseconds of processor time per request, and requests per second. */
const measure = async (running: ServerProcess, load: Plan["load"], duration: number) => {
  const before = processorTimeOf(running.pid)
  const { requests, perSecond } = await putLoad(running, { ...load, seconds: duration }, folder)
  return { microseconds: (processorTimeOf(running.pid) - before) / requests, perSecond }
}

type Running = ReadonlyArray<readonly [RecordServer, ServerProcess]>

const measureInTurn = async ({ name, load, aims }: Plan, running: Running): Promise<ReadonlyArray<Row>> => {
  const able = running.filter(([{ kind }]) => kind === "full" || load.path.startsWith("/api/products/"))
  for (const [, server] of able) await measure(server, load, WARM_UP_SECONDS)
  const results = able.map(([server]) => ({ server, taken: [] as Array<Awaited<ReturnType<typeof measure>>> }))
  for (let round = 1; round <= rounds; round++) {
    note(`${name}: round ${round} of ${rounds}`)
    for (const [at, [, server]] of able.entries()) results[at]?.taken.push(await measure(server, load, seconds))
  }
  const medians = results.map(({ server, taken }) => ({
    server,
    microseconds: median(taken.map((each) => each.microseconds)),
    perSecond: median(taken.map((each) => each.perSecond)),
  }))
  const ours = medians[0]
  return medians.map(({ server, microseconds, perSecond }) => {
    const timesAsCheap = microseconds / (ours?.microseconds ?? Number.NaN)
    const aim = aims[server.name]
    const verdict = aim === undefined ? {} : { aim, held: timesAsCheap >= aim }
    const timesAsFast = (ours?.perSecond ?? Number.NaN) / perSecond
    return { server: server.title, microseconds, perSecond, timesAsCheap, timesAsFast, ...verdict }
  })
}

const measureStarts = async (servers: ReadonlyArray<RecordServer>): Promise<ReadonlyArray<StartRow>> => {
  const results = servers.map((server) => ({ server, taken: [] as Array<number> }))
  for (let round = 1; round <= rounds; round++) {
    note(`start: round ${round} of ${rounds}`)
    for (const { server, taken } of results) {
      const running = await startToFirstRecord(server, token)
      await running.stop()
      taken.push(running.startedInMs)
    }
  }
  const ours = median(results[0]?.taken ?? [])
  return results.map(({ server, taken }) => {
    const milliseconds = median(taken)
    const [timesAsLong, atMost] = [ours / milliseconds, START.aims[server.name]]
    const verdict = atMost === undefined ? {} : { atMost, held: timesAsLong <= atMost }
    return { server: server.title, milliseconds, timesAsLong, ...verdict }
  })
}

const verdictOf = (aim: string, held: boolean | undefined): string =>
  held === undefined ? "| |" : `${aim} | ${held ? "held" : "SHORT"} |`

const loadTable = (title: string, rows: ReadonlyArray<Row>): string =>
  [
    `\n### ${title}\n`,
    "| Server | µs of processor time a request | x | aim | | requests/s | x |\n|---|---|---|---|---|---|---|",
    ...rows.map(({ server, microseconds, perSecond, timesAsCheap, timesAsFast, aim, held }) => {
      const cheap = `${microseconds.toFixed(1)} | ${timesAsCheap.toFixed(2)}`
      return `| ${server} | ${cheap} | ${verdictOf(`${aim}`, held)} ${Math.round(perSecond)} | ${timesAsFast.toFixed(2)} |`
    }),
  ].join("\n")

const startTable = (rows: ReadonlyArray<StartRow>): string =>
  [
    "\n### First answer after start\n",
    "| Server | ms to the first record | Portolan's time, x | aim | |\n|---|---|---|---|---|",
    ...rows.map(({ server, milliseconds, timesAsLong, atMost, held }) => {
      const verdict = verdictOf(`at most ${atMost}`, held)
      return `| ${server} | ${Math.round(milliseconds)} | ${timesAsLong.toFixed(2)} | ${verdict}`
    }),
  ].join("\n")

const folder = mkdtempSync(join(tmpdir(), "portolan-bench-"))
const running: Array<readonly [RecordServer, ServerProcess]> = []
const stopAll = () => Promise.all(running.splice(0).map(([, server]) => server.stop()))
try {
  const installed = Bun.spawnSync([join(import.meta.dir, "install.sh")], { stdio: ["ignore", "pipe", "inherit"] })
  if (!installed.success) throw new Error("install.sh failed")
  const peers = values.peers?.split(",")
  const servers = (await recordServers(folder, installed.stdout.toString().trim())).filter(
    ({ name }) => name === "portolan" || name === "elysia-bare" || (peers?.includes(name) ?? true),
  )
  for (const server of servers) {
    note(`${server.name}: starts, is filled, is proved`)
    running.push([server, await startFilledAndProved(server, token)])
  }
  const json: Record<string, ReadonlyArray<Row | StartRow>> = {}
  const print = (text: string) => values.json || process.stdout.write(`${text}\n`)
  print(`${rounds} rounds of ${seconds} s, in turn, medians`)
  const loaded = running.filter(([{ kind }]) => kind !== "open")
  for (const plan of PLANS.filter(({ name }) => wanted.includes(name))) {
    const rows = await measureInTurn(plan, loaded)
    json[plan.name] = rows
    print(loadTable(plan.title, rows))
  }
  // Nothing else runs meanwhile: a server that still works off its load would share the processors with a start.
  await stopAll()
  if (wanted.includes(START.name)) {
    const rows = await measureStarts(servers)
    json[START.name] = rows
    print(startTable(rows))
  }
  if (values.json) process.stdout.write(`${JSON.stringify({ rounds, seconds, ...json }, undefined, 2)}\n`)
} finally {
  await stopAll()
  rmSync(folder, { recursive: true })
}
