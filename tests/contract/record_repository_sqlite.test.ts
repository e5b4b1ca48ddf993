// What the SQLite adapters promise beyond the contract: durability, shared commits, several processes, refusals.
import { afterAll, describe, expect, test } from "bun:test"
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Context, Effect, Fiber, Layer, type Scope } from "effect"
import * as sqlite from "../../adapters/driven/record_repository/sqlite.ts"
import * as sqliteDatabase from "../../adapters/driven/sqlite_database.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { startRepository } from "../support/repository_process.ts"

const { SqliteDatabase } = sqliteDatabase
const folder = mkdtempSync(join(tmpdir(), "portolan-sqlite-"))
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
const newPath = (): string => join(folder, `${++files}`, "records.sqlite")

const ALL = { start: 0, limit: 1000 }
const LOCK_TIMEOUT_MS = 60
const NOBODY = 65_534

const open = (path: string, lockTimeoutMs = LOCK_TIMEOUT_MS) =>
  Effect.map(
    Layer.build(Layer.provideMerge(sqlite.layer, sqliteDatabase.layer({ path, lockTimeoutMs }))),
    (context) => ({
      repository: Context.get(context, RecordRepository),
      database: Context.get(context, SqliteDatabase),
    }),
  )

const scoped = <A>(program: Effect.Effect<A, unknown, Scope.Scope>): Promise<A> =>
  Effect.runPromise(Effect.scoped(program))

const atOnce = <A, E>(count: number, effect: (at: number) => Effect.Effect<A, E>) =>
  Effect.all(
    Array.from({ length: count }, (_, at) => effect(at)),
    { concurrency: "unbounded" },
  )

/** Commits in a write-ahead log: the frames that carry a database size. @see sqlite.org/fileformat2.html section 4.1 */
const commitsIn = (walPath: string): number => {
  const wal = readFileSync(walPath)
  const pageSize = wal.readUInt32BE(8)
  let commits = 0
  for (let frame = 32; frame + 24 + pageSize <= wal.length; frame += 24 + pageSize)
    if (wal.readUInt32BE(frame + 4) !== 0) commits++
  return commits
}

const expectUnavailable = (failure: unknown, path: string): void => {
  expect(failure).toBeInstanceOf(StoreUnavailable)
  expect(failure).toMatchObject({ store: { user: "-", host: "file", database: path } })
}

describe("group commit", () => {
  test("64 creates at once share one commit", () => {
    const path = newPath()
    return scoped(
      Effect.gen(function* () {
        const { repository } = yield* open(path)
        const before = commitsIn(`${path}-wal`)
        const created = yield* atOnce(64, (at) => repository.create("c", { at }))
        expect(created.map(({ id }) => id)).toEqual(Array.from({ length: 64 }, (_, at) => at + 1))
        expect(commitsIn(`${path}-wal`) - before).toBe(1)
        yield* repository.create("c", {})
        expect(commitsIn(`${path}-wal`) - before).toBe(2)
      }),
    )
  })

  test("waits for the disk: a commit outlives a power cut", () =>
    scoped(
      Effect.gen(function* () {
        const { database } = yield* open(newPath())
        const pragma = (name: string) => database.read((db) => db.prepare(`PRAGMA ${name}`).get()?.[name])
        const FULL = 2
        expect(yield* pragma("synchronous")).toBe(FULL)
        expect(yield* pragma("journal_mode")).toBe("wal")
      }),
    ))

  test("tells nobody before the commit", () => {
    const path = newPath()
    return scoped(
      Effect.gen(function* () {
        const { repository } = yield* open(path)
        const other = new DatabaseSync(path)
        const seen = other.prepare("SELECT count(*) AS n FROM records")
        const counts = yield* atOnce(8, () => Effect.map(repository.create("c", {}), () => seen.get()?.["n"]))
        expect(counts).toEqual(Array.from({ length: 8 }, () => 8))
        other.close()
      }),
    )
  })

  test("a write that fails is undone alone", () => {
    const path = newPath()
    return scoped(
      Effect.gen(function* () {
        const { repository, database } = yield* open(path)
        const before = yield* repository.create("c", {})
        const poisoned = database.write((db) => {
          db.exec("INSERT INTO records VALUES ('c', 99, 'half')")
          db.exec("INSERT INTO records VALUES ('c', 99, 'twice')")
        })
        const [first, failure, last] = yield* Effect.all(
          [repository.create("c", {}), Effect.flip(poisoned), repository.create("c", {})],
          { concurrency: "unbounded" },
        )
        expectUnavailable(failure, path)
        expect([before.id, first.id, last.id]).toEqual([1, 2, 3])
        expect((yield* repository.list("c", ALL)).map(({ id }) => id)).toEqual([1, 2, 3])
      }),
    )
  })

  test("a defect of one caller is that caller's alone", () => {
    const path = newPath()
    return scoped(
      Effect.gen(function* () {
        const { repository, database } = yield* open(path)
        const defect = new RangeError("not SQLite's fault")
        const broken = database.write(() => {
          throw defect
        })
        const [exit, record] = yield* Effect.all([Effect.exit(broken), repository.create("c", {})], {
          concurrency: "unbounded",
        })
        expect(JSON.stringify(exit)).toContain("Die")
        expect(record.id).toBe(1)
      }),
    )
  })

  test("what was queued is written before the file closes", async () => {
    const path = newPath()
    await scoped(
      Effect.gen(function* () {
        const { repository } = yield* open(path)
        yield* Effect.forkDetach(
          atOnce(5, (at) => repository.create("c", { at })),
          { startImmediately: true },
        )
      }),
    )
    await scoped(
      Effect.gen(function* () {
        const { repository } = yield* open(path)
        expect(yield* repository.count("c")).toBe(5)
      }),
    )
  })
})

describe("ids", () => {
  test("end at 2^53-1, and nothing is stored above", () => {
    const path = newPath()
    return scoped(
      Effect.gen(function* () {
        const { repository, database } = yield* open(path)
        yield* repository.create("c", {})
        yield* database.write((db) => db.exec(`UPDATE collections SET last_id = ${Number.MAX_SAFE_INTEGER - 1}`))
        const last = yield* repository.create("c", {})
        expect(last.id).toBe(Number.MAX_SAFE_INTEGER)
        expect(yield* repository.get("c", last.id)).toEqual(last)
        expectUnavailable(yield* Effect.flip(repository.create("c", {})), path)
        expect(yield* repository.count("c")).toBe(2)
      }),
    )
  })
})

describe("several processes on one file", () => {
  test("64 creates at once in each give 128 distinct ids", async () => {
    const path = newPath()
    const both = await Promise.all([startRepository(path, "c"), startRepository(path, "c")])
    const ids = (await Promise.all(both.map((each) => each.ask("create 64")))) as Array<Array<number>>
    for (const own of ids) expect(own).toEqual(own.toSorted((a, b) => a - b))
    expect(ids.flat().toSorted((a, b) => a - b)).toEqual(Array.from({ length: 128 }, (_, at) => at + 1))
    for (const each of both) expect(await each.ask("list")).toHaveLength(128)
    expect(await Promise.all(both.map((each) => each.end()))).toEqual(["", ""])
  })

  test("each sees at once what the other did", async () => {
    const path = newPath()
    const other = await startRepository(path, "c")
    await scoped(
      Effect.gen(function* () {
        const { repository } = yield* open(path)
        for (let round = 0; round < 20; round++) {
          const [theirs] = (yield* Effect.promise(() => other.ask("create 1"))) as Array<number>
          expect((yield* repository.list("c", ALL)).at(-1)?.id).toBe(theirs)
          const ours = yield* repository.create("c", {})
          expect(yield* Effect.promise(() => other.ask(`has ${ours.id}`))).toBe(true)
          yield* repository.remove("c", ours.id)
          expect(yield* Effect.promise(() => other.ask(`has ${ours.id}`))).toBe(false)
        }
      }),
    )
    expect(await other.end()).toBe("")
  })

  test("every acknowledged create survives kill -9", async () => {
    const path = newPath()
    const victim = await startRepository(path, "c")
    victim.send("stream 16")
    const acknowledged: Array<number> = []
    while (acknowledged.length < 500) acknowledged.push((await victim.next()) as number)
    await victim.kill()
    await scoped(
      Effect.gen(function* () {
        const { repository } = yield* open(path)
        for (const id of acknowledged) expect((yield* repository.get("c", id)).id).toBe(id)
        const count = yield* repository.count("c")
        expect(count).toBeGreaterThanOrEqual(500)
        expect((yield* repository.create("c", {})).id).toBe(count + 1)
      }),
    )
  })
})

describe("refusals", () => {
  const failureOf = (path: string) => scoped(Effect.flip(open(path)))

  test("no SQLite file", async () => {
    const path = join(folder, "garbage.sqlite")
    writeFileSync(path, "this is no database ".repeat(200))
    expectUnavailable(await failureOf(path), path)
    expect(readFileSync(path, "utf8")).toStartWith("this is no database")
  })

  test("a file where the folder should be, a folder where the file should be", async () => {
    const path = join(folder, "plain")
    writeFileSync(path, "")
    expectUnavailable(await failureOf(join(path, "records.sqlite")), join(path, "records.sqlite"))
    expectUnavailable(await failureOf(folder), folder)
  })

  test("a file that may only be read", async () => {
    const path = newPath()
    await scoped(open(path))
    chmodSync(path, 0o400)
    for (const parent of [folder, dirname(path)]) chmodSync(parent, 0o755)
    // The superuser may write to anything: be somebody else for a moment.
    const superuser = process.geteuid?.() === 0
    if (superuser) chownSync(path, NOBODY, NOBODY)
    if (superuser) process.seteuid?.(NOBODY)
    try {
      expectUnavailable(await failureOf(path), path)
    } finally {
      if (superuser) process.seteuid?.(0)
    }
  })

  test("a full disk: a write that does not fit fails, what was there stays, and a later one succeeds", () => {
    const path = newPath()
    return scoped(
      Effect.gen(function* () {
        const { repository, database } = yield* open(path)
        const kept = yield* repository.create("c", { text: "kept" })
        const pages = yield* database.read((db) => db.prepare("PRAGMA page_count").get()?.["page_count"])
        yield* database.read((db) => db.exec(`PRAGMA max_page_count = ${pages}`))
        const [fits, ...others] = yield* atOnce(3, (at) =>
          Effect.result(repository.create("c", { text: "x".repeat(at * 100_000) })),
        )
        for (const other of others) expectUnavailable(other._tag === "Failure" && other.failure, path)
        const written = fits?._tag === "Success" ? [kept, fits.success] : [kept]
        expect(yield* repository.list("c", ALL)).toEqual(written)
        expect(yield* repository.count("c")).toBe(written.length)
        yield* database.read((db) => db.exec("PRAGMA max_page_count = 1000000"))
        expect((yield* repository.create("c", {})).id).toBe(written.length + 1)
      }),
    )
  })

  test("a lock of another process: writes wait without blocking reads, and fail when it stays", () => {
    const path = newPath()
    return scoped(
      Effect.gen(function* () {
        const { repository } = yield* open(path)
        const kept = yield* repository.create("c", {})
        const other = new DatabaseSync(path)
        other.exec("BEGIN IMMEDIATE")
        const startedAt = performance.now()
        const waiting = yield* Effect.forkChild(Effect.flip(repository.create("c", {})), { startImmediately: true })
        yield* Effect.sleep(1)
        expect(Effect.runSync(repository.get("c", 1))).toEqual(kept)
        expectUnavailable(yield* Fiber.join(waiting), path)
        expect(performance.now() - startedAt).toBeGreaterThanOrEqual(LOCK_TIMEOUT_MS)
        other.close()
      }),
    )
  })

  test("a lock of another process that goes in time: the write succeeds", () => {
    const path = newPath()
    return scoped(
      Effect.gen(function* () {
        const { repository } = yield* open(path, 10_000)
        const other = new DatabaseSync(path)
        other.exec("BEGIN IMMEDIATE")
        const waiting = yield* Effect.forkChild(repository.create("c", {}), { startImmediately: true })
        yield* Effect.sleep(40)
        expect(waiting.pollUnsafe()).toBeUndefined()
        other.exec("ROLLBACK")
        expect((yield* Fiber.join(waiting)).id).toBe(1)
        other.close()
      }),
    )
  })

  test("a closed file", async () => {
    const path = newPath()
    const { repository } = await scoped(open(path))
    for (const operation of [
      repository.get("c", 1),
      repository.list("c", ALL),
      repository.create("c", {}),
      repository.remove("c", 1),
      repository.count("c"),
      repository.ping,
    ])
      expectUnavailable(await Effect.runPromise(Effect.flip<unknown, unknown, never>(operation)), path)
  })
})

test("the file and its companions are the owner's alone", () => {
  const path = newPath()
  return scoped(
    Effect.gen(function* () {
      const { repository } = yield* open(path)
      yield* repository.create("c", {})
      for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777).toBe(0o600)
      expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700)
    }),
  )
})
