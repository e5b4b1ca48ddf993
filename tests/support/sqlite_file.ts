// A file of a suite's own with records in SQLite, removed when the suite is over.
import { afterAll, expect } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer, type Scope } from "effect"
import * as sqlite from "../../adapters/driven/record_repository/sqlite.ts"
import * as sqliteDatabase from "../../adapters/driven/sqlite_database.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { StoreUnavailable } from "../../domain/store_unavailable.ts"

export const LOCK_TIMEOUT_MS = 60

/** @returns a folder that is there until the suite is over, and paths of files that are not there yet */
export const ownFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-sqlite-"))
  afterAll(() => rmSync(folder, { recursive: true }))
  let files = 0
  return { folder, newPath: (): string => join(folder, `${++files}`, "records.sqlite") }
}

/** The adapters over one file, closed with the scope. */
export const openFile = (path: string, lockTimeoutMs = LOCK_TIMEOUT_MS) =>
  Effect.map(
    Layer.build(Layer.provideMerge(sqlite.layer, sqliteDatabase.layer({ path, lockTimeoutMs }))),
    (context) => ({
      repository: Context.get(context, RecordRepository),
      database: Context.get(context, sqliteDatabase.SqliteDatabase),
    }),
  )

export const scoped = <A>(program: Effect.Effect<A, unknown, Scope.Scope>): Promise<A> =>
  Effect.runPromise(Effect.scoped(program))

export const expectUnavailable = (failure: unknown, path: string): void => {
  expect(failure).toBeInstanceOf(StoreUnavailable)
  expect(failure).toMatchObject({ store: { user: "-", host: "file", database: path } })
}
