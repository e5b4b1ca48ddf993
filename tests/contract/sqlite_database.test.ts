// What the SQLite file promises to every adapter over it: shared commits, durability, refusals. Records serve as the example.
import { describe, expect, test } from "bun:test"
import { chmodSync, chownSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Clock, Effect, Fiber, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { expectUnavailable, LOCK_TIMEOUT_MS, openFile, ownFolder, scoped } from "../support/sqlite_file.ts"

const { folder, newPath } = ownFolder()

const ALL = { start: 0, limit: 1000 }
const LOCK_PAUSE_MS = 5
const NOBODY = 65_534

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

describe("group commit", () => {
  test("64 creates at once share one commit", () => {
    const path = newPath()
    return scoped(
      Effect.gen(function* () {
        const { repository } = yield* openFile(path)
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
        const { database } = yield* openFile(newPath())
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
        const { repository } = yield* openFile(path)
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
        const { repository, database } = yield* openFile(path)
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
        const { repository, database } = yield* openFile(path)
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
        const { repository } = yield* openFile(path)
        yield* Effect.forkDetach(
          atOnce(5, (at) => repository.create("c", { at })),
          { startImmediately: true },
        )
      }),
    )
    await scoped(
      Effect.gen(function* () {
        const { repository } = yield* openFile(path)
        expect(yield* repository.count("c")).toBe(5)
      }),
    )
  })
})

describe("refusals", () => {
  const failureOf = (path: string) => scoped(Effect.flip(openFile(path)))

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
    await scoped(openFile(path))
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
        const { repository, database } = yield* openFile(path)
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

  describe("a lock of another process", () => {
    const nextTurn = Effect.callback<void>((resume) => {
      setImmediate(() => resume(Effect.void))
    })
    const afterAPause = Effect.andThen(TestClock.adjust(LOCK_PAUSE_MS), nextTurn)

    /** A file that another connection has locked, and a create that waits for it. */
    const waiting = Effect.gen(function* () {
      const path = newPath()
      const { repository } = yield* openFile(path)
      const kept = yield* repository.create("c", {})
      const other = new DatabaseSync(path)
      yield* Effect.addFinalizer(() => Effect.sync(() => other.close()))
      other.exec("BEGIN IMMEDIATE")
      const create = yield* Effect.forkChild(Effect.result(repository.create("c", {})), { startImmediately: true })
      yield* nextTurn
      return { path, repository, kept, other, create }
    })
    const locked = <A>(program: Effect.Effect<A, unknown, Scope.Scope>): Promise<A> =>
      scoped(Effect.provide(program, TestClock.layer()))

    test("writes wait without blocking reads, and fail when it stays", () =>
      locked(
        Effect.gen(function* () {
          const { path, repository, kept, create } = yield* waiting
          expect(yield* repository.get("c", 1)).toEqual(kept)
          const startedAt = yield* Clock.currentTimeMillis
          while (create.pollUnsafe() === undefined) yield* afterAPause
          const outcome = yield* Fiber.join(create)
          expectUnavailable(outcome._tag === "Failure" && outcome.failure, path)
          expect((yield* Clock.currentTimeMillis) - startedAt).toBeGreaterThanOrEqual(LOCK_TIMEOUT_MS)
        }),
      ))

    test("the write succeeds when it goes in time", () =>
      locked(
        Effect.gen(function* () {
          const { other, create } = yield* waiting
          for (let pause = 0; pause < 5; pause++) yield* afterAPause
          expect(create.pollUnsafe()).toBeUndefined()
          other.exec("ROLLBACK")
          while (create.pollUnsafe() === undefined) yield* afterAPause
          expect(yield* Fiber.join(create)).toMatchObject({ _tag: "Success", success: { id: 2 } })
        }),
      ))
  })

  test("a closed file", async () => {
    const path = newPath()
    const { repository, database } = await scoped(openFile(path))
    for (const operation of [
      repository.get("c", 1),
      repository.list("c", ALL),
      repository.create("c", {}),
      repository.remove("c", 1),
      repository.count("c"),
      repository.ready,
      database.version(),
    ])
      expectUnavailable(await Effect.runPromise(Effect.flip<unknown, unknown, never>(operation)), path)
  })
})

test("the file and its companions are the owner's alone", () => {
  const path = newPath()
  return scoped(
    Effect.gen(function* () {
      const { repository } = yield* openFile(path)
      yield* repository.create("c", {})
      for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777).toBe(0o600)
      expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700)
    }),
  )
})
