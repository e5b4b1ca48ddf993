// The service with everything it stands on at hand, so that each dependency can fail: a relay before each server, the SQLite
// file on a small disk of its own, and one more service in this process whose SQLite connection can be reached.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Layer, Scope } from "effect"
import { MongoClient } from "mongodb"
import Type from "typebox"
import type { SqliteDatabase } from "../../adapters/driven/sqlite_database.ts"
import { defineCollection } from "../../domain/records/collection.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { startFakeAgent } from "./fake_agent.ts"
import { makeGraphModel } from "./graph_model.ts"
import { graphServer } from "./graph_server.ts"
import { type LocalServer, localServer } from "./local_server.ts"
import { ACCOUNT } from "./media_world.ts"
import type { MongoServer } from "./real_servers.ts"
import { mongoPlace, startRelay } from "./relay.ts"
import { callerHeaders, endProcesses, serve } from "./service_process.ts"
import { openFile } from "./sqlite_file.ts"
import { startService } from "./test_service.ts"
import { jwkOf, KEYS } from "./tokens.ts"
import { startUnwritableMongo } from "./unwritable_mongo.ts"

/** A container that is there, in the scripted graph; and what it holds. */
export const CONTAINER_ID = "17900000000000001"
export const IMAGE = { kind: "image", imageUrl: "https://cdn.example.com/a.jpg" }

const JOB = { ID: "cam-1", Name: "cam-1", TaskGroups: [{ Name: "restreamer", Count: 1 }] }

/** Products whose name may be long enough to fill a disk. */
const PRODUCTS = { name: "products", fields: Type.Object({ name: Type.String({ minLength: 1 }) }) }

/** Starts it all; `stop` takes all of it away again. */
export const startFailingWorld = async () => {
  const scope = Scope.makeUnsafe()
  const started: Array<() => unknown> = []
  const folder = mkdtempSync(join(tmpdir(), "portolan-failing-"))
  const disk = mkdtempSync(join(tmpdir(), "portolan-disk-"))
  const hasDisk = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk]).success

  const relayTo = async ({ url }: { readonly url: string }) => {
    const { hostname, port } = new URL(url)
    const relay = await startRelay({ host: hostname, port: Number(port) })
    started.push(relay.stop)
    return { ...relay, url: `http://127.0.0.1:${relay.port}` }
  }
  const inScope = (server: Effect.Effect<LocalServer, never, Scope.Scope>) =>
    Effect.runPromise(Scope.provide(server, scope))

  const agent = await startFakeAgent()
  started.push(agent.stop)
  const keys = JSON.stringify({ keys: [jwkOf(KEYS.realm().publicKey, { kid: "realm-key-1" })] })
  const realm = await inScope(localServer(() => ({ body: keys })))
  const behind = {
    agent: await relayTo(agent),
    graph: await relayTo(await inScope(graphServer(makeGraphModel({ processingMs: 0 }), () => Date.now()))),
    realm: await relayTo(realm),
    realmAway: await relayTo(realm),
    realmSilent: await relayTo(realm),
  }
  const roles = { SCHEDULER_ROLES: "admin", MEDIA_ROLES: "admin" }
  const areas = {
    ...roles,
    SCHEDULER_URL: behind.agent.url,
    GRAPH_URL: behind.graph.url,
    GRAPH_API_VERSION: "v25.0",
    GRAPH_ACCOUNT_ID: ACCOUNT,
    GRAPH_ACCESS_TOKEN: "token",
  }
  const keysAt = ({ url }: { readonly url: string }) => ({ AUTH_PUBLIC_KEY: "", AUTH_JWKS_URL: `${url}/certs` })

  const collections = join(folder, "collections.json")
  writeFileSync(collections, JSON.stringify({ collections: [PRODUCTS] }))
  const filePath = join(disk, "records.sqlite")
  await behind.realmAway.away()
  behind.realmSilent.silent()
  const main = await serve({ ...areas, ...keysAt(behind.realm), SQLITE_PATH: filePath, COLLECTIONS: collections })
  const early = await serve({ STORE: "memory", ...keysAt(behind.realmAway) })
  const waiting = await serve({ STORE: "memory", ...keysAt(behind.realmSilent) })

  /** A service in this process, where a connection of its SQLite file is at hand. */
  let file: SqliteDatabase["Service"] | undefined
  const held = await startService({
    collections: [defineCollection(PRODUCTS)],
    repository: Layer.effect(
      RecordRepository,
      Effect.map(openFile(join(folder, "held.sqlite")), ({ repository, database }) => {
        file = database
        return repository
      }),
    ),
  })
  const pragma = (text: string) => Effect.runPromise((file as SqliteDatabase["Service"]).read((db) => db.exec(text)))
  /** A service on MongoDB behind relays; the server itself is not touched. */
  const onMongo = async (server: MongoServer) => {
    const database = `portolan_failing_${process.pid}`
    const unwritable = await startUnwritableMongo(mongoPlace(server.url))
    const relay = await startRelay(unwritable)
    const drop = async () => {
      const client = new MongoClient(server.database(database))
      await client.db().dropDatabase()
      await client.close()
    }
    started.push(drop, relay.stop, unwritable.stop)
    const url = mongoPlace(server.database(database)).through(relay.port)
    const single = String(!server.atomicUpdates)
    const environment = { ...areas, STORE: "mongo", MONGODB_URL: url, MONGODB_SINGLE_WRITER: single }
    const { address } = await serve(environment)
    return { unwritable, relay, address }
  }

  // What the cases look at.
  for (const [path, body] of [
    ["/scheduler/jobs?region=", JOB],
    ["/media/containers", IMAGE],
  ] as const) {
    const init = { method: "POST", headers: callerHeaders(), body: JSON.stringify(body) }
    const answer = await fetch(`${main.address}${path}`, init)
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  }

  const stop = async () => {
    await endProcesses()
    await held.stop()
    for (const end of started.reverse()) await end()
    await Effect.runPromise(Scope.close(scope, Exit.void))
    if (hasDisk) Bun.spawnSync(["umount", "--lazy", disk])
    for (const each of [disk, folder]) rmSync(each, { recursive: true })
  }
  return { main, early, waiting, held, pragma, behind, onMongo, disk, hasDisk, filePath, stop }
}
