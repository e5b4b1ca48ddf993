// Records in MongoDB: the service over HTTP against the bare driver behind a bare Bun.serve, which looks at no token.
//
// Usage: TEST_MONGODB_URL=mongodb://... bun tests/bench/mongo.ts [--rounds 5] [--seconds 3] [--json]
//        (TEST_MONGODB_ATOMIC_UPDATES=false for FerretDB)
//
// The bare server creates as the driver's manual does it: one step of a counter, then one insert, for each request alone. Both
// take turns under the same load in one run; a number is the median of its rounds, and the ratio is the service's over the bare
// one's. A ratio below its aim is marked SHORT, and nothing fails because of a time. Needs wrk; Linux only.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { MongoClient } from "mongodb"
import { mongoDatabaseUrl } from "../support/real_servers.ts"
import { ISSUER, KEYS, pemOf } from "../support/tokens.ts"
import { median, requestsPerSecond, type Server, startServer } from "./load.ts"
import { acceptedToken, FIELDS } from "./record_servers.ts"

/** Serves GET by id and POST with nothing but the driver. */
const serveBare = async (url: string): Promise<void> => {
  const db = (await new MongoClient(url, { writeConcern: { w: "majority" } }).connect()).db()
  const records = db.collection<{ _id: number; fields: unknown }>("products")
  const sequences = db.collection<{ _id: string; last: number }>("portolan.sequences")
  const create = async (request: Request): Promise<Response> => {
    const fields: unknown = await request.json()
    const sequence = await sequences.findOneAndUpdate(
      { _id: "products" },
      { $inc: { last: 1 } },
      { upsert: true, returnDocument: "after" },
    )
    const id = sequence?.last ?? 0
    // Where the server loses a step the id is taken, and the record is lost: nothing is added to what the bare one does.
    await records.insertOne({ _id: id, fields }).catch(() => undefined)
    return Response.json({ response: "OK", data: { id, ...FIELDS } }, { status: 201 })
  }
  const get = async (id: number): Promise<Response> => {
    const found = await records.findOne({ _id: id })
    return found === null ? new Response(null, { status: 404 }) : Response.json({ response: "OK", data: found })
  }
  Bun.serve({
    hostname: "127.0.0.1",
    port: Number(process.env["PORT"]),
    development: false,
    routes: {
      "/health/live": new Response("live"),
      "/api/products": { POST: create },
      "/api/products/:id": ({ params }) => get(Number(params.id)),
    },
  })
}

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    json: { type: "boolean", default: false },
    bare: { type: "boolean", default: false },
  },
})

/** Records in both stores before the first load. */
const RECORDS = 100
const POST = { path: "/api/products", body: JSON.stringify(FIELDS) }
const GET = { path: "/api/products/7" }
/** Creates come last: what is got by id is then one of as many records in both. */
const PLANS = [
  { title: "get by id at 32 connections", load: { ...GET, connections: 32 }, aim: 0.8 },
  { title: "get by id at 64 connections", load: { ...GET, connections: 64 }, aim: 0.8 },
  { title: "create at 32 connections", load: { ...POST, connections: 32 }, aim: 1 },
  { title: "create at 64 connections", load: { ...POST, connections: 64 }, aim: 1 },
] as const

const compare = async (address: string): Promise<void> => {
  const url = (name: string) => mongoDatabaseUrl(address, `portolan_bench_${name}_${process.pid}`)
  const folder = mkdtempSync(join(tmpdir(), "portolan-bench-mongo-"))
  const running: Array<Server> = []
  const start = async (words: ReadonlyArray<string>, env: Readonly<Record<string, string>>) => {
    const server = await startServer([process.execPath, ...words], env, { pinned: true })
    running.push(server)
    return server
  }
  try {
    const ours = await start([join(import.meta.dir, "../../bootstrap/main.ts"), "serve"], {
      AUTH_PUBLIC_KEY: pemOf(KEYS.realm().publicKey),
      AUTH_ISSUER: ISSUER,
      STORE: "mongo",
      MONGODB_URL: url("service"),
      MONGODB_SINGLE_WRITER: String(process.env["TEST_MONGODB_ATOMIC_UPDATES"] === "false"),
      LOG_LEVEL: "warn",
    })
    const bare = await start([import.meta.path, "--bare"], { TEST_MONGODB_URL: url("bare") })
    const [rounds, seconds, token] = [Number(options.rounds), Number(options.seconds), acceptedToken()]
    for (const server of [ours, bare])
      for (let count = 0; count < RECORDS; count++)
        await fetch(server.url + POST.path, {
          method: "POST",
          body: POST.body,
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        })
    const results = []
    for (const { title, load, aim } of PLANS) {
      const perSecond = { ours: [] as Array<number>, bare: [] as Array<number> }
      const measure = (server: Server, duration: number) =>
        requestsPerSecond(server, { ...load, seconds: duration, token }, folder)
      for (const server of [ours, bare]) await measure(server, 1)
      for (let round = 1; round <= rounds; round++) {
        process.stderr.write(`${title}: round ${round} of ${rounds}\n`)
        perSecond.ours.push(await measure(ours, seconds))
        perSecond.bare.push(await measure(bare, seconds))
      }
      const [service, driver] = [median(perSecond.ours), median(perSecond.bare)]
      results.push({ title, service, driver, ratio: service / driver, aim, held: service / driver >= aim })
    }
    const lines = results.map(
      ({ title, service, driver, ratio, aim, held }) =>
        `| ${title} | ${Math.round(service)} | ${Math.round(driver)} | ${ratio.toFixed(2)} | ${aim} | ${held ? "held" : "SHORT"} |`,
    )
    const table = [
      "| Load | service, requests/s | bare driver | ratio | aim | |",
      "|---|---|---|---|---|---|",
      ...lines,
    ]
    process.stdout.write(`${options.json ? JSON.stringify(results) : table.join("\n")}\n`)
  } finally {
    await Promise.all(running.map((server) => server.stop()))
    for (const name of ["service", "bare"]) {
      const client = new MongoClient(url(name))
      await client.db().dropDatabase()
      await client.close()
    }
    rmSync(folder, { recursive: true })
  }
}

const address = process.env["TEST_MONGODB_URL"]
if (address === undefined) throw new Error("TEST_MONGODB_URL must name a MongoDB server")
await (options.bare ? serveBare(address) : compare(address))
