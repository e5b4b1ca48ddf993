import { afterAll } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Layer } from "effect"
import * as memory from "../../adapters/driven/record_repository/memory.ts"
import * as mongo from "../../adapters/driven/record_repository/mongo.ts"
import { storeOf } from "../../bootstrap/store.ts"
import { ownDatabase } from "../support/mongo_database.ts"
import { MONGODB, realSuite } from "../support/real_servers.ts"
import { recordQueriesContract } from "./record_queries.ts"

recordQueriesContract({ name: "memory", layer: memory.layer, keeps: false }, { runs: 200 })

const folder = mkdtempSync(join(tmpdir(), "portolan-queries-"))
afterAll(() => rmSync(folder, { recursive: true }))
recordQueriesContract(
  { name: "sqlite, as the service keeps it", layer: storeOf({ sqlite: join(folder, "records.sqlite") }), keeps: true },
  { runs: 150 },
)

realSuite(MONGODB, "queries over a MongoDB server", (server) => {
  const layer = Layer.provide(mongo.layer({ singleWriter: !server.atomicUpdates }), ownDatabase(server, "queries"))
  recordQueriesContract({ name: "mongo", layer, keeps: true }, { runs: 30, leavesOutOtherKinds: true })
})
