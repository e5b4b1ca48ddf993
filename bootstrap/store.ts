import { Effect, Layer, Redacted } from "effect"
import * as memoryPublishing from "../adapters/driven/publish_journal/memory.ts"
import * as memoryRecords from "../adapters/driven/record_repository/memory.ts"
import * as memoryRestarts from "../adapters/driven/restart_journal/memory.ts"
import type { PublishJournal } from "../domain/media/publish_journal.ts"
import { RecordRepository } from "../domain/records/record_repository.ts"
import type { RestartJournal } from "../domain/scheduler/restart_journal.ts"
import type { StoreUnavailable } from "../domain/store_unavailable.ts"
import { type Config, sqlitePath } from "./config.ts"

/** Where records and journals live. */
export type StoreChoice =
  | "memory"
  /** Path of the SQLite file. */
  | { readonly sqlite: string }
  | {
      /** Connection string; the database comes from its path, else `portolan`. */
      readonly mongodb: string
      /** Most connections at a time; the driver's default when omitted. */
      readonly maxOpenConnections?: number
      /** Most connections that stay open once idle; the driver's default when omitted. */
      readonly maxIdleConnections?: number
      /** True to take a server that does not count atomically, for the only process that creates records there. */
      readonly singleWriter?: boolean
    }

/** What one store holds, over one connection: records, and the journals of restarts and of publishing. */
export type Store = Layer.Layer<RecordRepository | RestartJournal | PublishJournal, StoreUnavailable>

/**
 * The swap table of the store's ports. An adapter that needs a package of its own is imported only when it is chosen: the
 * MongoDB driver alone would double the start time.
 */
export const storeOf = (store: StoreChoice): Store => {
  if (store === "memory") return Layer.mergeAll(memoryRecords.layer, memoryRestarts.layer, memoryPublishing.layer)
  if ("sqlite" in store)
    return Layer.unwrap(
      Effect.promise(async () => {
        const records = await import("../adapters/driven/record_repository/sqlite.ts")
        const { remembering } = await import("../adapters/driven/record_repository/remembering.ts")
        const restarts = await import("../adapters/driven/restart_journal/sqlite.ts")
        const publishing = await import("../adapters/driven/publish_journal/sqlite.ts")
        const database = await import("../adapters/driven/sqlite_database.ts")
        const remembered = Layer.effect(
          RecordRepository,
          Effect.gen(function* () {
            const { version } = yield* database.SqliteDatabase
            return remembering(yield* RecordRepository, version)
          }),
        )
        return Layer.provide(
          Layer.mergeAll(Layer.provide(remembered, records.layer), restarts.layer, publishing.layer),
          database.layer({ path: store.sqlite }),
        )
      }),
    )
  return Layer.unwrap(
    Effect.promise(async () => {
      const records = await import("../adapters/driven/record_repository/mongo.ts")
      const restarts = await import("../adapters/driven/restart_journal/mongo.ts")
      const publishing = await import("../adapters/driven/publish_journal/mongo.ts")
      const connection = await import("../adapters/driven/mongo_connection.ts")
      const { mongodb, maxOpenConnections, maxIdleConnections, singleWriter = false } = store
      return Layer.provide(
        Layer.mergeAll(records.layer({ singleWriter }), restarts.layer, publishing.layer),
        connection.layer({ url: Redacted.make(mongodb), maxOpenConnections, maxIdleConnections }),
      )
    }),
  )
}

/** The configured store. */
export const storeLayer = (config: Config): Store => {
  if (config.STORE === "memory") return storeOf("memory")
  if (config.STORE === "sqlite") return storeOf({ sqlite: sqlitePath(config) })
  const { MONGODB_URL = Redacted.make(""), DB_MAX_OPEN_CONNS: open, DB_MAX_IDLE_CONNS: idle } = config
  return storeOf({
    mongodb: Redacted.value(MONGODB_URL),
    singleWriter: config.MONGODB_SINGLE_WRITER,
    ...(open === undefined ? {} : { maxOpenConnections: open }),
    ...(idle === undefined ? {} : { maxIdleConnections: idle }),
  })
}
