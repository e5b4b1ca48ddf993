import { afterAll } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Layer } from "effect"
import * as memory from "../../adapters/driven/record_repository/memory.ts"
import * as mongo from "../../adapters/driven/record_repository/mongo.ts"
import * as sqlite from "../../adapters/driven/record_repository/sqlite.ts"
import * as sqliteDatabase from "../../adapters/driven/sqlite_database.ts"
import { storeOf } from "../../bootstrap/store.ts"
import { ownDatabase } from "../support/mongo_database.ts"
import { MONGODB, realSuite } from "../support/real_servers.ts"
import { type RepositoryUnderTest, recordRepositoryContract } from "./record_repository.ts"
import { uniqueFieldsContract } from "./record_repository_unique.ts"
import { recordUpdatesContract } from "./record_repository_updates.ts"

const contract = (under: RepositoryUnderTest, nullableUnique = true): void => {
  recordRepositoryContract(under)
  recordUpdatesContract(under)
  uniqueFieldsContract(under, nullableUnique)
}

contract({ name: "memory", layer: memory.layer, keeps: false })

const folder = mkdtempSync(join(tmpdir(), "portolan-records-"))
afterAll(() => rmSync(folder, { recursive: true }))
contract({
  name: "sqlite",
  layer: Layer.provide(sqlite.layer, sqliteDatabase.layer({ path: join(folder, "records.sqlite") })),
  keeps: true,
})

contract({
  name: "sqlite, as the service keeps it",
  layer: storeOf({ sqlite: join(folder, "remembered.sqlite") }),
  keeps: true,
})

realSuite(MONGODB, "over a MongoDB server", (server) => {
  contract(
    {
      name: "mongo",
      layer: Layer.provide(mongo.layer({ singleWriter: !server.atomicUpdates }), ownDatabase(server, "contract")),
      keeps: true,
    },
    // The server without atomic updates is FerretDB, which has no partial indexes either.
    server.atomicUpdates,
  )
})
