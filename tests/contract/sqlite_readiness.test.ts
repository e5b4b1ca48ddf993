// A store is ready when a create would succeed: every way in which SQLite can read and no longer write.
import { afterAll, describe, expect, test } from "bun:test"
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import { expectUnavailable, openFile, ownFolder, scoped } from "../support/sqlite_file.ts"

const { newPath } = ownFolder()

const ALL = { start: 0, limit: 1000 }

/** What must hold of a file that can be read and no longer written. */
const expectReadsOnly = (open: Effect.Success<ReturnType<typeof openFile>>, path: string, kept: unknown) =>
  Effect.gen(function* () {
    expectUnavailable(yield* Effect.flip(open.repository.create("c", { text: "x".repeat(10_000) })), path)
    expectUnavailable(yield* Effect.flip(open.repository.ready), path)
    expect<unknown>(yield* open.repository.list("c", ALL)).toEqual([kept])
  })

describe("a file that takes no write is not ready, and ready again as soon as it takes one", () => {
  test("SQLite may not add a page", () => {
    const path = newPath()
    return scoped(
      Effect.gen(function* () {
        const { repository, database } = yield* openFile(path)
        const limit = (pages: number) => database.read((db) => db.exec(`PRAGMA max_page_count = ${pages}`))
        yield* repository.ready
        yield* limit(Number(yield* database.read((db) => db.prepare("PRAGMA page_count").get()?.["page_count"])))
        // Records as small as can be, until not even one of these finds room.
        let kept = 0
        while ((yield* Effect.result(repository.create("portolan.filler", {})))._tag === "Success") kept++
        expectUnavailable(yield* Effect.flip(repository.ready), path)
        expect(yield* repository.count("portolan.filler")).toBe(kept)
        yield* limit(1_000_000)
        yield* repository.ready
      }),
    )
  })

  test("another process keeps the lock", () => {
    const path = newPath()
    return scoped(
      Effect.gen(function* () {
        const open = yield* openFile(path)
        const kept = yield* open.repository.create("c", {})
        const other = new DatabaseSync(path)
        other.exec("BEGIN IMMEDIATE")
        yield* expectReadsOnly(open, path, kept)
        other.close()
        yield* open.repository.ready
      }),
    )
  })

  test("it may only be read", () => {
    const path = newPath()
    return scoped(
      Effect.gen(function* () {
        const open = yield* openFile(path)
        const kept = yield* open.repository.create("c", {})
        yield* open.database.read((db) => db.exec("PRAGMA query_only = ON"))
        yield* expectReadsOnly(open, path, kept)
        yield* open.database.read((db) => db.exec("PRAGMA query_only = OFF"))
        yield* open.repository.ready
      }),
    )
  })
})

test("a file whose pages break under the running service is not ready", () => {
  const path = newPath()
  return scoped(
    Effect.gen(function* () {
      const { repository } = yield* openFile(path)
      yield* repository.create("c", {})
      yield* repository.ready
      // A write of another connection makes the service read its pages again; the checkpoint has put them into the file.
      const other = new DatabaseSync(path)
      other.exec("INSERT INTO records VALUES ('c', 2, '{}'); PRAGMA wal_checkpoint(TRUNCATE)")
      const rootOf = "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = 'records'"
      const { rootpage, page_size: size } = other.prepare(rootOf).get() as { rootpage: number; page_size: number }
      other.close()
      const file = openSync(path, "r+")
      writeSync(file, Buffer.alloc(size, 0xff), 0, size, (rootpage - 1) * size)
      closeSync(file)
      expectUnavailable(yield* Effect.flip(repository.create("c", {})), path)
      expectUnavailable(yield* Effect.flip(repository.ready), path)
    }),
  )
})

const mount = mkdtempSync(join(tmpdir(), "portolan-full-disk-"))
const mounted =
  process.platform === "linux" && Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", mount]).success
afterAll(() => {
  if (mounted) Bun.spawnSync(["umount", "--lazy", mount])
  rmSync(mount, { recursive: true })
})

test.skipIf(!mounted)("a disk that is full, for real (needs the right to mount one)", () => {
  const path = join(mount, "records.sqlite")
  return scoped(
    Effect.gen(function* () {
      const { repository } = yield* openFile(path)
      const kept = yield* repository.create("c", {})
      yield* repository.ready
      const filler = openSync(join(mount, "filler"), "a")
      const page = Buffer.alloc(4096)
      const full = () => {
        try {
          return writeSync(filler, page) < page.length
        } catch {
          return true
        }
      }
      while (!full());
      // What the log has left of its last page takes a few small records more, and then no other.
      let refusals = 0
      for (let attempt = 0; attempt < 20 && refusals < 3; attempt++)
        if ((yield* Effect.result(repository.create("filler", { attempt })))._tag === "Failure") refusals++
      expect(refusals).toBe(3)
      expectUnavailable(yield* Effect.flip(repository.ready), path)
      expect<unknown>(yield* repository.list("c", ALL)).toEqual([kept])
      closeSync(filler)
      rmSync(join(mount, "filler"))
      yield* repository.ready
      yield* repository.create("c", {})
    }),
  )
})
