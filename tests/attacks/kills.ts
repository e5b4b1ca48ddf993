// Creates and deletes, mixed, while their process is killed at random moments: bun tests/attacks/kills.ts [rounds] [sqlite|mongo]
// 200 rounds unless told otherwise; SEED=<number> repeats the moments of a run. `mongo` takes the server of TEST_MONGODB_URL,
// and kills it in every second round when TEST_MONGODB_KILL and TEST_MONGODB_START say how. Prints figures; exit 1 on a breach.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Layer } from "effect"
import { MongoClient } from "mongodb"
import * as sqliteRecords from "../../adapters/driven/record_repository/sqlite.ts"
import * as sqliteDatabase from "../../adapters/driven/sqlite_database.ts"
import { broken, keptIds, mongoRecordsIn, moreCreates, nothingTold, startWriter } from "../support/killed_writers.ts"
import { KILLABLE_MONGODB, MONGODB, presence } from "../support/real_servers.ts"
import { seededRandom } from "../support/seeded_random.ts"

/** Longest time from the first create after a kill to the next kill, ms. */
const LIFE_MS = 300

const rounds = Number(process.argv[2] ?? 200)
const store = process.argv[3] ?? "sqlite"
const { random, seed } = seededRandom()
const print = (line: string) => process.stdout.write(`${line}\n`)

const sqlite = () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-kills-"))
  const path = join(folder, "records.sqlite")
  return {
    address: path,
    writers: 2,
    killServer: undefined,
    records: Layer.provide(sqliteRecords.layer, sqliteDatabase.layer({ path })),
    remove: async () => rmSync(folder, { recursive: true }),
  }
}

const mongo = () => {
  const found = presence(MONGODB, process.env)
  if (found.kind !== "there") throw new Error(found.reason)
  const { server } = found
  const killable = presence(KILLABLE_MONGODB, process.env)
  const address = server.database(`portolan_attack_${process.pid}`)
  return {
    address,
    // Only a server that counts atomically may have two writers.
    writers: server.atomicUpdates ? 2 : 1,
    killServer:
      killable.kind === "there"
        ? async () => {
            await killable.server.kill()
            await killable.server.start()
          }
        : undefined,
    records: mongoRecordsIn(server, address),
    remove: async () => {
      const client = new MongoClient(address)
      await client.db().dropDatabase()
      await client.close()
    },
  }
}

if (!(rounds > 0) || !["sqlite", "mongo"].includes(store)) throw new Error("kills.ts [rounds] [sqlite|mongo]")
const { address, writers: count, killServer, records, remove } = store === "mongo" ? mongo() : sqlite()
print(`${rounds} kills on ${store}, ${count} writing process(es), SEED=${seed}`)

const told = nothingTold()
const kills = { process: 0, server: 0 }
const writers = await Promise.all(Array.from({ length: count }, (_, at) => startWriter(address, String(at), told)))
try {
  for (let round = 1; round <= rounds; round++) {
    await moreCreates(told, 1)
    await Bun.sleep(random() * LIFE_MS)
    const victim = writers[Math.floor(random() * writers.length)]
    if (killServer !== undefined && round % 2 === 0) {
      await killServer()
      kills.server++
    } else {
      await victim?.kill()
      await victim?.start()
      kills.process++
    }
    if (round % 20 === 0)
      print(`${round} kills, ${told.created.length} creates and ${told.deleted.size} deletes answered`)
  }
} finally {
  await Promise.all(writers.map(({ kill }) => kill()))
}
const kept = await keptIds(records)
const breaches = Object.entries(broken(told, kept))
for (const [what, which] of breaches)
  print(`${what}: ${which.length}${which.length > 0 ? ` (${which.slice(0, 10)})` : ""}`)
const { created, deleted } = told
print(`killed: the process ${kills.process} times, the server ${kills.server} times`)
const reasons = new Set(told.refusedStarts.map(({ message }) => /error: (Cannot .*)/.exec(message)?.[1] ?? message))
print(`starts refused and tried again: ${told.refusedStarts.length}`)
for (const reason of reasons) print(`  ${reason}`)
print(`answered: ${created.length} creates, ${deleted.size} deletes; kept: ${kept.length} records`)
// A run in which nothing happens between two kills would prove nothing.
const isWeak = created.length < rounds || deleted.size < rounds / 2
if (isWeak) print("Too few calls were answered to prove anything")
if (isWeak || breaches.some(([, which]) => which.length > 0)) process.exitCode = 1
await remove()
