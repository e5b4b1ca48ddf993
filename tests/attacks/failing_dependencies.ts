// Everything behind the service fails while it runs: bun tests/attacks/failing_dependencies.ts [part of a case's name]
// A line for each case with what was seen; exit 1 when an answer, a deadline or the recovery is not the documented one. The
// cases of MongoDB take the server of TEST_MONGODB_URL; the full disk is a small tmpfs, for which one has to be root.
import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { type FailingCase, type Probe, runCase } from "../support/failing_case.ts"
import { CONTAINER_ID, IMAGE, startFailingWorld } from "../support/failing_world.ts"
import { MONGODB, presence } from "../support/real_servers.ts"
import type { Relay } from "../support/relay.ts"
import { callerHeaders, runProcess } from "../support/service_process.ts"
import { tokenKit } from "../support/tokens.ts"

const wanted = process.argv[2] ?? ""
const print = (line: string) => process.stdout.write(`${line}\n`)

const world = await startFailingWorld()
const { main, early, waiting, held, pragma, behind, disk, hasDisk, filePath } = world

const LIST: Probe = { path: "/api/products?limit=1", expected: "200" }
const CREATE: Probe = { path: "/api/products", body: { name: "a" }, expected: "201" }
const BIG: Probe = { path: "/api/products", body: { name: "x".repeat(100_000) }, expected: "201" }
/** Readiness tries a write at most once a second, and says in between what it saw. */
const READY: Probe = { path: "/health/ready", expected: "200", afterMs: 1_100 }
const LIVE: Probe = { path: "/health/live", expected: "200" }
const JOB: Probe = { path: "/scheduler/jobs/cam-1?region=", expected: "200" }
const SCALE: Probe = { path: "/scheduler/jobs/cam-1/scale?region=", body: { count: 1 }, expected: "200" }
const CONTAINER: Probe = { path: `/media/containers/${CONTAINER_ID}`, expected: "200" }
const MAKE: Probe = { path: "/media/containers", body: IMAGE, expected: "201" }
const POST: Probe = { path: "/media/posts", body: { key: "k", ...IMAGE }, expected: "200" }

const refused = (probe: Probe, expected: string, withinMs = 0): Probe => ({ ...probe, expected, withinMs })
const storeAway = (probe: Probe, withinMs = 0) => refused(probe, "503 STORE_UNAVAILABLE", withinMs)
const noKeys = (probe: Probe, withinMs = 0) => refused(probe, "503 KEYS_UNAVAILABLE", withinMs)

/** The routes of the areas whose dependency is well. */
const AREAS = { records: [LIST, CREATE], scheduler: [JOB], media: [CONTAINER] }
/** How long a write waits for the lock of another process, ms. */
const LOCK_MS = 2_000
/** How long a request waits for MongoDB, and for the graph, ms. */
const [MONGO_MS, GRAPH_MS] = [20_000, 15_000]
/** How long a command may take that asks a server once, ms; and what a busy machine may add. */
const [COMMAND_MS, SLACK_MS] = [10_000, 5_000]
/** How long a call of the agent may take, and a fetch of the realm's keys, ms. */
const [READ_MS, WRITE_MS, KEYS_MS] = [10_000, 45_000, 5_000]

let lock: DatabaseSync | undefined
let filler = 0
const fill = () => {
  filler = openSync(join(disk, "filler"), "a")
  for (const size of [4096, 1])
    try {
      while (writeSync(filler, Buffer.alloc(size)) === size);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error
    }
}
const strangerHeaders = () => ({
  ...callerHeaders(),
  authorization: `Bearer ${tokenKit(Math.floor(Date.now() / 1000)).access({}, { kid: crypto.randomUUID() })}`,
})
const move = (from: string, to: string) => {
  for (const suffix of ["", "-wal", "-shm"]) renameSync(`${from}${suffix}`, `${to}${suffix}`)
}

interface Row extends Omit<FailingCase, "service"> {
  readonly service?: () => string
  readonly skip?: string | false
  readonly headers?: () => Record<string, string>
}

const others = [...AREAS.scheduler, ...AREAS.media]

const SQLITE: ReadonlyArray<Row> = [
  {
    name: "SQLite: locked by another process",
    breakIt: () => {
      lock = new DatabaseSync(filePath)
      lock.exec("BEGIN IMMEDIATE")
    },
    broken: [storeAway(CREATE, LOCK_MS), storeAway(READY, LOCK_MS), LIST, LIVE, ...others],
    mendIt: () => lock?.close(),
    mended: [CREATE, READY],
  },
  {
    name: "SQLite: the file is moved away",
    breakIt: () => move(filePath, `${filePath}.moved`),
    broken: [storeAway(CREATE), storeAway(READY), LIVE, ...others],
    mendIt: () => move(`${filePath}.moved`, filePath),
    mended: [CREATE, READY, LIST],
  },
  {
    name: "SQLite: the file may only be read",
    service: () => held.url,
    breakIt: () => pragma("PRAGMA query_only = ON"),
    broken: [storeAway(CREATE), storeAway(READY), LIST, LIVE],
    mendIt: () => pragma("PRAGMA query_only = OFF"),
    mended: [CREATE, READY],
  },
  {
    name: "SQLite: a full disk",
    skip: !hasDisk && "needs the right to mount a tmpfs",
    breakIt: fill,
    broken: [storeAway(BIG), LIST, LIVE, ...others],
    mendIt: () => {
      closeSync(filler)
      rmSync(join(disk, "filler"))
    },
    mended: [BIG, READY, LIST],
  },
  {
    name: "SQLite: the file may not grow",
    service: () => held.url,
    breakIt: () => pragma("PRAGMA max_page_count = 1"),
    broken: [storeAway(BIG), LIST, LIVE],
    mendIt: () => pragma("PRAGMA max_page_count = 1000000"),
    mended: [BIG, READY],
  },
]

const REALM: ReadonlyArray<Row> = [
  {
    name: "identity provider: away, its keys known",
    breakIt: behind.realm.away,
    broken: [...AREAS.records, READY, ...others],
    mendIt: behind.realm.back,
    mended: [LIST],
  },
  {
    name: "identity provider: silent, a token of an unknown key",
    breakIt: behind.realm.silent,
    headers: strangerHeaders,
    broken: [refused(LIST, "401 UNAUTHENTICATED", KEYS_MS), READY, LIVE],
    mendIt: behind.realm.back,
    mended: [READY],
  },
  {
    name: "identity provider: away since the start",
    service: () => early.address,
    breakIt: () => {},
    broken: [noKeys(LIST), noKeys(READY), LIVE],
    mendIt: behind.realmAway.back,
    mended: [LIST, READY],
  },
  {
    name: "identity provider: silent since the start",
    service: () => waiting.address,
    breakIt: () => {},
    broken: [noKeys(LIST, KEYS_MS), noKeys(READY), LIVE],
    mendIt: behind.realmSilent.back,
    mended: [LIST, READY],
  },
]

const AGENT: ReadonlyArray<Row> = [
  {
    name: "agent: away",
    breakIt: behind.agent.away,
    broken: [JOB, SCALE].map((each) => refused(each, "503 SCHEDULER_UNREACHABLE")).concat(AREAS.records, CONTAINER),
    mendIt: behind.agent.back,
    mended: [JOB, SCALE],
  },
  {
    name: "agent: silent",
    breakIt: behind.agent.silent,
    broken: [
      refused(JOB, "503 SCHEDULER_TIMEOUT", READ_MS),
      refused(SCALE, "503 SCHEDULER_TIMEOUT", WRITE_MS),
      ...AREAS.records,
      CONTAINER,
      READY,
    ],
    mendIt: behind.agent.back,
    mended: [JOB, SCALE],
  },
]

const GRAPH: ReadonlyArray<Row> = [
  {
    name: "graph: away",
    breakIt: behind.graph.away,
    broken: [
      refused(CONTAINER, "503 GRAPH_NETWORK", GRAPH_MS),
      refused(MAKE, "503 GRAPH_NETWORK", GRAPH_MS),
      ...AREAS.records,
      JOB,
    ],
    mendIt: behind.graph.back,
    mended: [CONTAINER, MAKE],
  },
  {
    name: "graph: silent",
    breakIt: behind.graph.silent,
    broken: [
      refused(CONTAINER, "503 GRAPH_NETWORK", GRAPH_MS),
      refused(MAKE, "503 GRAPH_NETWORK", GRAPH_MS),
      refused(POST, "202", GRAPH_MS),
      ...AREAS.records,
      JOB,
      READY,
    ],
    mendIt: behind.graph.back,
    mended: [CONTAINER, MAKE, POST],
  },
]

const found = presence(MONGODB, process.env)

/** Lets a paused relay speak now and then: every answer is late, and none is missing. */
const pulse = (relay: Relay) => {
  let isPulsing = true
  const beat = async () => {
    while (isPulsing) {
      relay.silent()
      await Bun.sleep(1_500)
      await relay.back()
      await Bun.sleep(50)
    }
  }
  const over = beat()
  return async () => {
    isPulsing = false
    await over
  }
}

const mongoCases = async (): Promise<ReadonlyArray<Row>> => {
  const names = ["away", "silent", "slow", "its user may only read"]
  if (found.kind !== "there")
    return names.map((name) => ({
      name: `MongoDB: ${name}`,
      skip: found.reason,
      breakIt: () => {},
      mendIt: () => {},
      broken: [],
      mended: [],
    }))
  const { server } = found
  const { unwritable, relay, address } = await world.onMongo(server)
  const service = () => address
  const gone = [CREATE, LIST, READY].map((each) => storeAway(each, MONGO_MS)).concat(LIVE, ...others)
  const mended = [CREATE, LIST, READY]
  let calm: () => unknown = () => {}
  return [
    { name: "away", breakIt: relay.away, mendIt: relay.back, broken: gone },
    { name: "silent", breakIt: relay.silent, mendIt: relay.back, broken: gone },
    {
      name: "slow",
      breakIt: () => {
        calm = pulse(relay)
      },
      mendIt: () => calm(),
      broken: [CREATE, LIST].map((each) => ({ ...each, withinMs: MONGO_MS })),
    },
    {
      name: "its user may only read",
      breakIt: () => unwritable.refuseWrites(true),
      mendIt: () => unwritable.refuseWrites(false),
      broken: [storeAway(CREATE), storeAway(READY), LIST, LIVE, ...others],
    },
  ].map((each) => ({ ...each, name: `MongoDB: ${each.name}`, service, mended, backWithinMs: MONGO_MS }))
}

/** Commands whose dependency is silent or away end by themselves. */
const ends = async (name: string, words: ReadonlyArray<string>, environment: Record<string, string>, text: RegExp) => {
  if (!name.includes(wanted)) return
  const startedAt = performance.now()
  const { code, stderr } = await runProcess(words, environment)
  const tookMs = performance.now() - startedAt
  const isHeld = code !== 0 && text.test(stderr) && tookMs < COMMAND_MS + SLACK_MS
  if (!isHeld) process.exitCode = 1
  const said = stderr.trim().split("\n").at(-1)?.slice(0, 160)
  print(`${isHeld ? "held  " : "BROKEN"}  ${name}: exit ${code} in ${(tookMs / 1000).toFixed(1)} s: ${said}`)
}

try {
  for (const row of [...SQLITE, ...REALM, ...AGENT, ...GRAPH, ...(await mongoCases())]) {
    if (!row.name.includes(wanted)) continue
    if (row.skip) {
      print(`skipped ${row.name}: ${row.skip}`)
      continue
    }
    const { seen, held } = await runCase({ service: () => main.address, ...row }, row.headers ?? callerHeaders)
    if (!held) process.exitCode = 1
    print(`${held ? "held  " : "BROKEN"}  ${row.name}: ${seen.join("; ")}`)
  }
  const client = { IDP_REALM: "demo", IDP_CLIENT_ID: "a", IDP_CLIENT_SECRET: "s3cret-of-a" }
  behind.realm.silent()
  await ends("portolan token: identity provider silent", ["token"], { ...client, IDP_URL: behind.realm.url }, /oken/)
  await behind.realm.away()
  await ends("portolan token: identity provider away", ["token"], { ...client, IDP_URL: behind.realm.url }, /oken/)
  const store = { STORE: "mongo", MONGODB_URL: `mongodb://alice:s3cret@127.0.0.1:${behind.realm.port}/charts` }
  const named = /user 'alice' at '127\.0\.0\.1:\d+', database 'charts'/
  await ends("portolan serve: MongoDB away at start", ["serve"], { ...store, AUTH_JWKS_URL: behind.realm.url }, named)
} finally {
  await world.stop()
}
