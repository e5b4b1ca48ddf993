// What records in SQLite promise beyond the contract: ids, several processes, pages far behind.
import { describe, expect, test } from "bun:test"
import { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import { remembering } from "../../adapters/driven/record_repository/remembering.ts"
import { startRepository } from "../support/repository_process.ts"
import { expectUnavailable, openFile, ownFolder, scoped } from "../support/sqlite_file.ts"

const { newPath } = ownFolder()

const ALL = { start: 0, limit: 1000 }
/** Tests that start processes, also on a machine under heavy load. */
const PROCESSES_MS = 60_000

/** The repository as the service keeps it. */
const openRemembering = (path: string) =>
  Effect.map(openFile(path), ({ repository, database }) => remembering(repository, database.version))

describe("ids", () => {
  test("end at 2^53-1, and nothing is stored above", () => {
    const path = newPath()
    return scoped(
      Effect.gen(function* () {
        const { repository, database } = yield* openFile(path)
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
  test(
    "64 creates at once in each give 128 distinct ids",
    async () => {
      const path = newPath()
      const both = await Promise.all([startRepository(path, "c"), startRepository(path, "c")])
      const ids = (await Promise.all(both.map((each) => each.ask("create 64")))) as Array<Array<number>>
      for (const own of ids) expect(own).toEqual(own.toSorted((a, b) => a - b))
      expect(ids.flat().toSorted((a, b) => a - b)).toEqual(Array.from({ length: 128 }, (_, at) => at + 1))
      for (const each of both) expect(await each.ask("list")).toHaveLength(128)
      expect(await Promise.all(both.map((each) => each.end()))).toEqual(["", ""])
    },
    PROCESSES_MS,
  )

  test(
    "each sees at once what the other did, also in pages it remembers",
    async () => {
      const path = newPath()
      const other = await startRepository(path, "c")
      await scoped(
        Effect.gen(function* () {
          const repository = yield* openRemembering(path)
          for (let round = 0; round < 20; round++) {
            const [theirs] = (yield* Effect.promise(() => other.ask("create 1"))) as Array<number>
            expect((yield* repository.list("c", ALL)).at(-1)?.id).toBe(theirs)
            const ours = yield* repository.create("c", {})
            expect((yield* repository.list("c", ALL)).at(-1)?.id).toBe(ours.id)
            expect(yield* Effect.promise(() => other.ask(`has ${ours.id}`))).toBe(true)
            yield* repository.remove("c", ours.id)
            expect((yield* repository.list("c", ALL)).at(-1)?.id).toBe(theirs)
            expect(yield* Effect.promise(() => other.ask(`has ${ours.id}`))).toBe(false)
          }
        }),
      )
      expect(await other.end()).toBe("")
    },
    PROCESSES_MS,
  )

  test(
    "every acknowledged create survives kill -9",
    async () => {
      const path = newPath()
      const victim = await startRepository(path, "c")
      victim.send("stream 16")
      const acknowledged: Array<number> = []
      while (acknowledged.length < 500) acknowledged.push((await victim.next()) as number)
      await victim.kill()
      await scoped(
        Effect.gen(function* () {
          const { repository } = yield* openFile(path)
          for (const id of acknowledged) expect((yield* repository.get("c", id)).id).toBe(id)
          const count = yield* repository.count("c")
          expect(count).toBeGreaterThanOrEqual(500)
          const all = Array.from({ length: count }, (_, at) => at + 1)
          for (const start of [0, count - 10])
            expect((yield* repository.list("c", { start, limit: 1000 })).map(({ id }) => id)).toEqual(
              all.slice(start, start + 1000),
            )
          expect((yield* repository.create("c", {})).id).toBe(count + 1)
        }),
      )
    },
    PROCESSES_MS,
  )
})

describe("a replaced record", () => {
  test(
    "survives kill -9 as it was last acknowledged, or as one later",
    async () => {
      const path = newPath()
      const victim = await startRepository(path, "c")
      victim.send("count 8")
      const acknowledged = new Map<number, number>()
      let killed: Promise<void> | undefined
      // What it said before its end is read to the end.
      for (let told = 0; ; told++) {
        const line = await victim.next().catch(() => undefined)
        if (line === undefined) break
        const [id, at] = line as [number, number]
        acknowledged.set(id, at)
        if (told === 400) killed = victim.kill()
      }
      await killed
      await scoped(
        Effect.gen(function* () {
          const { repository } = yield* openFile(path)
          expect(acknowledged.size).toBe(8)
          for (const [id, at] of acknowledged)
            expect([at, at + 1]).toContain(Number((yield* repository.get("c", id))["at"]))
        }),
      )
    },
    PROCESSES_MS,
  )

  test("is in every page at once, of this process and of another, also in pages that are remembered", async () => {
    const path = newPath()
    await scoped(
      Effect.gen(function* () {
        const repository = yield* openRemembering(path)
        const other = yield* openRemembering(path)
        yield* repository.create("c", { at: 0 })
        for (let at = 0; at < 20; at++) {
          for (const each of [repository, other]) expect<unknown>(yield* each.list("c", ALL)).toEqual([{ id: 1, at }])
          const writer = at % 2 === 0 ? repository : other
          yield* writer.replace("c", 1, { at }, { at: at + 1 })
        }
        expect<unknown>(yield* repository.list("c", ALL)).toEqual([{ id: 1, at: 20 }])
      }),
    )
  })
})

describe("pages of many records", () => {
  const RECORDS = 10_000
  const fill = (db: DatabaseSync): void => {
    db.prepare(
      `WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ?)
       INSERT INTO records SELECT 'c', id, '{}' FROM n`,
    ).run(RECORDS)
    db.prepare("INSERT INTO collections VALUES ('c', ?, ?)").run(RECORDS, RECORDS)
  }
  const idsFrom = (path: string, start: number) =>
    Effect.gen(function* () {
      const { repository } = yield* openFile(path)
      return (yield* repository.list("c", { start, limit: 3 })).map(({ id }) => id)
    })

  test("a file that was made before blocks were counted is counted when it is opened", async () => {
    const path = newPath()
    await scoped(
      Effect.gen(function* () {
        const { database } = yield* openFile(path)
        yield* database.write((db) => {
          db.exec("DROP TRIGGER record_created; DROP TRIGGER record_removed; DROP TABLE record_blocks")
          fill(db)
        })
      }),
    )
    for (const start of [0, 2046, 2047, 2048, 9_997])
      expect(await scoped(idsFrom(path, start))).toEqual([start + 1, start + 2, start + 3])
    expect(await scoped(idsFrom(path, RECORDS))).toEqual([])
  })

  test("what another program writes to the file is counted too", async () => {
    const path = newPath()
    await scoped(openFile(path))
    const other = new DatabaseSync(path)
    fill(other)
    other.exec("DELETE FROM records WHERE id BETWEEN 1000 AND 7000")
    other.close()
    expect(await scoped(idsFrom(path, 998))).toEqual([999, 7001, 7002])
    expect(await scoped(idsFrom(path, 3_996))).toEqual([9_998, 9_999, 10_000])
  })
})
