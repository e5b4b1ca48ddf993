// What every PublishJournal promises: the compare-and-set that makes a post exist once.
import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import * as memory from "../../adapters/driven/publish_journal/memory.ts"
import * as mongo from "../../adapters/driven/publish_journal/mongo.ts"
import * as sqlite from "../../adapters/driven/publish_journal/sqlite.ts"
import * as sqliteDatabase from "../../adapters/driven/sqlite_database.ts"
import { type Progress, type PublishEntry, PublishJournal } from "../../domain/media/publish_journal.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { ownDatabase } from "../support/mongo_database.ts"
import { MONGODB, NO_ATOMIC_UPDATES, realSuite } from "../support/real_servers.ts"

type Journal = PublishJournal["Service"]

let keys = 0

const entryOf = (key: string, progress: Progress = { state: "preparing" }): PublishEntry => ({
  key,
  accountId: "17841400008460056",
  slots: {
    parent: { containerId: "17889455560051444", createdAtMs: 1_700_000_000_000, fingerprint: "00ff00ff00ff00ff" },
  },
  progress,
  lease: { owner: "a.b", untilMs: 1_700_000_180_000 },
})

const contract = (
  name: string,
  layer: Layer.Layer<PublishJournal, StoreUnavailable>,
  /** Entries outlive the layer, and two layers see one another. */
  keeps: boolean,
  atomicUpdates = true,
): void => {
  const opened = <A>(program: (journal: Journal) => Effect.Effect<A, unknown>): Promise<A> =>
    Effect.runPromise(Effect.provide(Effect.flatMap(PublishJournal, program), layer))
  const promises = (
    promise: string,
    program: (journal: Journal, key: string) => Generator<Effect.Effect<unknown, unknown>, unknown, never>,
  ): void => {
    const key = `post:${process.pid}.${++keys}.ключ/'"$`
    test(promise, () => opened((journal) => Effect.gen(() => program(journal, key))))
  }

  describe(`PublishJournal: ${name}`, () => {
    promises("knows nothing of a key nobody wrote", function* (journal, key) {
      expect(yield* journal.find(key)).toBeUndefined()
      expect(yield* journal.put(entryOf(key), 1)).toBe(false)
      expect(yield* journal.find(key)).toBeUndefined()
    })

    promises("gives back every state as it was written", function* (journal, key) {
      const states: ReadonlyArray<Progress> = [
        { state: "preparing" },
        { state: "intended", containerId: "1", sends: 2, sinceMs: 5, lookOnly: true },
        { state: "published", containerId: "1", mediaId: "2" },
        { state: "published", containerId: "1", mediaId: undefined },
      ]
      for (const [version, progress] of states.entries()) {
        const entry = { ...entryOf(key, progress), ...(version === 3 ? { lease: undefined } : {}) }
        expect(yield* journal.put(entry, version)).toBe(true)
        expect(yield* journal.find(key)).toStrictEqual({ entry, version: version + 1 })
      }
    })

    promises("tells how many posts have come how far", function* (journal, key) {
      const before = yield* journal.tally
      const one = entryOf(key)
      const other = entryOf(`${key}/other`)
      const intended: Progress = { state: "intended", containerId: "1", sends: 1, sinceMs: 5, lookOnly: false }
      yield* journal.put(one, 0)
      yield* journal.put(other, 0)
      yield* journal.put({ ...other, progress: intended }, 1)
      const { preparing } = before
      expect(yield* journal.tally).toEqual({ ...before, preparing: preparing + 1, intended: before.intended + 1 })
      yield* journal.put({ ...other, progress: { state: "published", containerId: "1", mediaId: "2" } }, 2)
      expect(yield* journal.tally).toEqual({ ...before, preparing: preparing + 1, published: before.published + 1 })
    })

    promises("stores nothing over another version, and leaves what is there", function* (journal, key) {
      const first = entryOf(key)
      expect(yield* journal.put(first, 0)).toBe(true)
      const other: PublishEntry = { ...first, accountId: "2" }
      for (const version of [0, 2, 7]) expect(yield* journal.put(other, version)).toBe(false)
      expect(yield* journal.find(key)).toStrictEqual({ entry: first, version: 1 })
      expect(yield* journal.put(other, 1)).toBe(true)
      expect(yield* journal.put(first, 1)).toBe(false)
    })

    const oneOfTwentyWins = (version: number) =>
      function* (journal: Journal, key: string) {
        if (version > 0) yield* journal.put(entryOf(key), 0)
        const puts = Array.from({ length: 20 }, (_, at) =>
          journal.put({ ...entryOf(key), accountId: String(at) }, version),
        )
        const won = (yield* Effect.all(puts, { concurrency: "unbounded" })).map(Number)
        expect(won.reduce((sum, each) => sum + each)).toBe(1)
        expect((yield* journal.find(key))?.entry.accountId).toBe(String(won.indexOf(1)))
      }

    promises("lets one of twenty win on a new key", oneOfTwentyWins(0))
    if (atomicUpdates) promises("lets one of twenty win on a known key", oneOfTwentyWins(1))
    else test.skip(`PublishJournal: ${name}: one of twenty wins on a known key: ${NO_ATOMIC_UPDATES}`, () => {})

    promises("marks a description by its SHA-256", function* (journal) {
      yield* Effect.void
      // FIPS 180-2, appendix B.1.
      expect(journal.fingerprint("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
      expect(journal.fingerprint("ä")).not.toBe(journal.fingerprint("a"))
    })

    promises("keeps keys apart", function* (journal, key) {
      yield* journal.put(entryOf(key), 0)
      expect(yield* journal.find(`${key}.`)).toBeUndefined()
      expect(yield* journal.find(key.toUpperCase())).toBeUndefined()
    })

    if (!keeps) return
    test("outlives its layer", async () => {
      const entry = entryOf(`post:${process.pid}.${++keys}`)
      await opened((journal) => journal.put(entry, 0))
      expect(await opened((journal) => journal.find(entry.key))).toStrictEqual({ entry, version: 1 })
    })
  })
}

contract("memory", memory.layer, false)

const folder = mkdtempSync(join(tmpdir(), "portolan-journal-"))
afterAll(() => rmSync(folder, { recursive: true }))
contract("sqlite", Layer.provide(sqlite.layer, sqliteDatabase.layer({ path: join(folder, "journal.sqlite") })), true)

realSuite(MONGODB, "over a MongoDB server", (server) => {
  contract("mongo", Layer.provide(mongo.layer, ownDatabase(server, "journal")), true, server.atomicUpdates)
})
