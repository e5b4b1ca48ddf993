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
import { recordBatchesContract } from "./record_batches.ts"

recordBatchesContract({ name: "memory", layer: memory.layer, keeps: false })

const folder = mkdtempSync(join(tmpdir(), "portolan-batches-"))
afterAll(() => rmSync(folder, { recursive: true }))
recordBatchesContract({
  name: "sqlite, as the service keeps it",
  layer: storeOf({ sqlite: join(folder, "records.sqlite") }),
  keeps: true,
})

realSuite(MONGODB, "over a MongoDB server", (server) => {
  recordBatchesContract(
    {
      name: "mongo",
      layer: Layer.provide(mongo.layer({ singleWriter: !server.atomicUpdates }), ownDatabase(server, "batches")),
      keeps: true,
    },
    { isQuick: false },
  )
})
