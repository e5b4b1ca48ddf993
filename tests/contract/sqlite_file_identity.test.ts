// A database that is removed, replaced or cut off is noticed: under the running service, and at the next start.
import { afterAll, describe, expect, test } from "bun:test"
import {
  copyFileSync,
  existsSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { Effect, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { startRepository } from "../support/repository_process.ts"
import { callerHeaders, endProcesses, runProcess, serve, serveEnvironment, stop } from "../support/service_process.ts"
import { expectUnavailable, openFile, ownFolder, scoped } from "../support/sqlite_file.ts"

const { newPath } = ownFolder()
afterAll(endProcesses)

/** Tests that start processes, also on a machine under heavy load. */
const PROCESSES_MS = 60_000

const companionOf = (path: string) => `${path}.portolan`

/** A file with this many records, closed again. */
const fileWith = async (records: number, path = newPath()): Promise<string> => {
  await scoped(
    Effect.flatMap(openFile(path), ({ repository }) =>
      Effect.forEach(Array.from({ length: records }), () => repository.create("c", {})),
    ),
  )
  return path
}

const recordsIn = (path: string): Promise<number> =>
  scoped(Effect.flatMap(openFile(path), ({ repository }) => repository.count("c")))

const refusalOf = async (path: string): Promise<string> => {
  const failure = await scoped(Effect.flip(openFile(path)))
  expectUnavailable(failure, path)
  return (failure as Error).message
}

describe("under the running service", () => {
  /** Opens a file with one record, spoils it, and gives what is still open. */
  const spoiled = (
    spoil: (path: string) => void,
    then: (open: Effect.Success<ReturnType<typeof openFile>>, path: string) => Effect.Effect<void, unknown>,
  ): Promise<void> => {
    const path = newPath()
    return scoped(
      Effect.gen(function* () {
        // Opened a second time, so that the main file holds what was closed into it.
        yield* Effect.scoped(openFile(path))
        const open = yield* openFile(path)
        yield* open.repository.create("c", {})
        spoil(path)
        yield* then(open, path)
      }),
    )
  }

  test.each([
    ["removed", (path: string) => rmSync(path)],
    ["removed with its log", (path: string) => ["", "-wal"].map((end) => rmSync(path + end))],
    ["its log removed", (path: string) => rmSync(`${path}-wal`)],
    [
      "replaced by a copy of itself",
      (path: string) => {
        copyFileSync(path, `${path}.copy`)
        renameSync(`${path}.copy`, path)
      },
    ],
    ["emptied in place", (path: string) => truncateSync(path, 0)],
    ["cut off in place", (path: string) => truncateSync(path, 4096)],
  ])("%s: no write is acknowledged, the store is not ready, and the error names the path", (_what, spoil) =>
    spoiled(spoil, ({ repository }, path) =>
      Effect.gen(function* () {
        for (const operation of [repository.create("c", {}), repository.remove("c", 1), repository.ready]) {
          const failure = yield* Effect.flip<unknown, unknown, never>(operation)
          expectUnavailable(failure, path)
          expect((failure as Error).message).toContain(`'${path}': the file was removed, replaced or cut off`)
        }
      }),
    ),
  )

  test("put back, it takes writes again, and has none of those that were refused", () =>
    spoiled(
      (path) => renameSync(path, `${path}.away`),
      ({ repository }, path) =>
        Effect.gen(function* () {
          expectUnavailable(yield* Effect.flip(repository.create("c", { refused: true })), path)
          renameSync(`${path}.away`, path)
          expect((yield* repository.create("c", {})).id).toBe(2)
          expect(yield* repository.count("c")).toBe(2)
        }),
    ))

  test("another process may write, checkpoint and make the file smaller", () =>
    spoiled(
      (path) => {
        const other = new DatabaseSync(path)
        other.exec("CREATE TABLE big AS SELECT randomblob(1000000) AS bytes; PRAGMA wal_checkpoint(TRUNCATE)")
        other.close()
      },
      ({ repository }, path) =>
        Effect.gen(function* () {
          yield* repository.create("c", {})
          const before = statSync(path).size
          const other = new DatabaseSync(path)
          other.exec("DROP TABLE big; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
          other.close()
          expect(statSync(path).size).toBeLessThan(before)
          expect((yield* repository.create("c", {})).id).toBe(3)
          yield* repository.ready
        }),
    ))
})

describe("at the next start", () => {
  test("a removed file is refused, and what is left of it is left alone", async () => {
    const path = await fileWith(3)
    rmSync(path)
    expect(await refusalOf(path)).toContain(
      `removed or emptied. Put the right file back, or remove '${companionOf(path)}' to go on with what is there`,
    )
    expect(existsSync(path)).toBe(false)
  })

  test(
    "an emptied file is refused, and its log is left alone",
    async () => {
      const path = newPath()
      const victim = await startRepository(path, "c")
      await victim.ask("create 3")
      await victim.kill()
      const log = readFileSync(`${path}-wal`)
      expect(log.length).toBeGreaterThan(0)
      truncateSync(path, 0)
      expect(await refusalOf(path)).toContain("removed or emptied")
      expect(readFileSync(`${path}-wal`)).toEqual(log)
    },
    PROCESSES_MS,
  )

  test("another database is refused", async () => {
    const [path, other] = [await fileWith(3), await fileWith(5)]
    copyFileSync(other, path)
    expect(await refusalOf(path)).toContain("another database than was here")
    const unstamped = new DatabaseSync(`${path}.unstamped`)
    unstamped.exec("CREATE TABLE other (a)")
    unstamped.close()
    renameSync(`${path}.unstamped`, path)
    expect(await refusalOf(path)).toContain("another database than was here")
  })

  test("an older copy is refused, and taken once the file beside it is removed", async () => {
    const path = await fileWith(1)
    copyFileSync(path, `${path}.backup`)
    await fileWith(1, path)
    renameSync(`${path}.backup`, path)
    expect(await refusalOf(path)).toContain("an older copy")
    rmSync(companionOf(path))
    expect(await recordsIn(path)).toBe(1)
  })

  test(
    "a file that lost its log is refused",
    async () => {
      const path = newPath()
      const victim = await startRepository(path, "c")
      await victim.ask("create 3")
      await victim.kill()
      rmSync(`${path}-wal`)
      expect(await refusalOf(path)).toContain("one that lost its last writes")
    },
    PROCESSES_MS,
  )

  test("a file that was cut off is refused", async () => {
    const path = await fileWith(200)
    truncateSync(path, statSync(path).size - 4096)
    await refusalOf(path)
  })

  test(
    "a file that was killed in the midst of its writes is taken",
    async () => {
      const path = newPath()
      const victim = await startRepository(path, "c")
      victim.send("stream 16")
      while (((await victim.next()) as number) < 100);
      await victim.kill()
      expect(await recordsIn(path)).toBeGreaterThanOrEqual(100)
    },
    PROCESSES_MS,
  )

  test("a file of an earlier version, without a stamp, is taken and stamped", async () => {
    const path = await fileWith(2)
    rmSync(companionOf(path))
    const db = new DatabaseSync(path)
    db.exec("DROP TABLE portolan_file")
    db.close()
    expect(await recordsIn(path)).toBe(2)
    rmSync(path)
    expect(await refusalOf(path)).toContain("removed or emptied")
  })

  test("a file in another place, and a new one after all is removed, are taken", async () => {
    const path = await fileWith(2)
    linkSync(path, `${path}.elsewhere`)
    expect(await recordsIn(`${path}.elsewhere`)).toBe(2)
    const other = await fileWith(1)
    for (const file of [other, companionOf(other)]) rmSync(file)
    expect(await recordsIn(other)).toBe(0)
  })

  test("a file beside it that is no stamp is refused", async () => {
    const path = await fileWith(1)
    writeFileSync(companionOf(path), "")
    expect(await refusalOf(path)).toContain("the stamp beside the database cannot be read")
  })
})

describe("the stamp beside the file", () => {
  const stamps = (path: string): number => Number(readFileSync(companionOf(path), "utf8").split(" ")[1])
  const virtual = <A>(program: Effect.Effect<A, unknown, Scope.Scope>): Promise<A> =>
    scoped(Effect.provide(program, TestClock.layer()))

  test("is the owner's alone", async () => {
    expect(statSync(companionOf(await fileWith(1))).mode & 0o777).toBe(0o600)
  })

  test("is renewed every minute with writes, in no minute without, and at the end", async () => {
    const path = newPath()
    await virtual(
      Effect.gen(function* () {
        const { repository } = yield* openFile(path)
        const until = (count: number) =>
          Effect.promise(async () => {
            while (stamps(path) < count) await Bun.sleep(1)
          })
        expect(stamps(path)).toBe(1)
        yield* repository.create("c", {})
        yield* TestClock.adjust("1 minute")
        yield* until(2)
        yield* TestClock.adjust("10 minutes")
        // The next write shows that the minutes without one left no stamp: theirs would stand before its own.
        yield* repository.create("c", {})
        yield* TestClock.adjust("1 minute")
        yield* until(3)
        expect(stamps(path)).toBe(3)
      }),
    )
    expect(stamps(path)).toBe(4)
  })
})

test("the service says so to callers, to readiness, in its log, and when it is started again", async () => {
  const path = newPath()
  const environment = { STORE: "sqlite", SQLITE_PATH: path }
  const service = await serve(environment)
  const send = (target: string, init: RequestInit = {}) =>
    fetch(`${service.address}${target}`, { ...init, headers: callerHeaders() })
  const create = (name: string) => send("/api/products", { method: "POST", body: JSON.stringify({ name }) })
  expect((await create("kept")).status).toBe(201)
  expect((await send("/health/ready")).status).toBe(200)
  rmSync(path)
  const refused = await create("refused")
  expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([503, "STORE_UNAVAILABLE"])
  // What readiness found out before holds for a second.
  while ((await send("/health/ready")).status === 200) await Bun.sleep(50)
  const unready = await send("/health/ready")
  expect([unready.status, ((await unready.json()) as { code: string }).code]).toEqual([503, "STORE_UNAVAILABLE"])
  expect((await send("/api/products/1")).status).toBe(200)
  expect(await stop(service)).toBe(0)
  expect(service.stderr()).toContain(`database '${path}': the file was removed, replaced or cut off`)
  const { code, stderr } = await runProcess(["serve"], { ...serveEnvironment(), ...environment })
  expect(code).toBe(1)
  expect(stderr).toContain(`database '${path}': the database that was here has been removed or emptied`)
})
