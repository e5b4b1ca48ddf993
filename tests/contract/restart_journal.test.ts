// The restart journal's promises, over every journal there is.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import * as memory from "../../adapters/driven/restart_journal/memory.ts"
import * as mongo from "../../adapters/driven/restart_journal/mongo.ts"
import * as sqlite from "../../adapters/driven/restart_journal/sqlite.ts"
import * as database from "../../adapters/driven/sqlite_database.ts"
import { ownDatabase } from "../support/mongo_database.ts"
import { MONGODB, realSuite } from "../support/real_servers.ts"
import { restartJournalContract } from "./restart_journal.ts"

restartJournalContract("memory", Effect.succeed(memory.layer))

const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "portolan-journal-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true })),
)
restartJournalContract(
  "sqlite",
  Effect.map(temporaryFolder, (folder) =>
    Layer.provide(sqlite.layer, database.layer({ path: join(folder, "journal.sqlite") })),
  ),
)

realSuite(MONGODB, "the restart journal in MongoDB", (server) => {
  restartJournalContract("mongo", Effect.succeed(Layer.provide(mongo.layer, ownDatabase(server, "restarts"))))
})
