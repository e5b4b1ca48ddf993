// One list of promises for every journal that runs in both runtimes.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import * as memory from "../../../adapters/driven/restart_journal/memory.ts"
import * as sqlite from "../../../adapters/driven/restart_journal/sqlite.ts"
import * as database from "../../../adapters/driven/sqlite_database.ts"
import { restartJournalContract } from "./restart_journal_contract.ts"

restartJournalContract("memory", Effect.succeed(memory.layer))

const temporaryFile = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "portolan-journal-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true })),
)

restartJournalContract(
  "sqlite",
  Effect.map(temporaryFile, (folder) =>
    Layer.provide(sqlite.layer, database.layer({ path: join(folder, "journal.sqlite") })),
  ),
)
