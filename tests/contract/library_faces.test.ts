// What every face of the library does when its store cannot be opened at first.
import { afterAll, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import { createMedia } from "../../bootstrap/media.ts"
import { openRecords, type Records } from "../../bootstrap/records.ts"
import { createScheduler } from "../../bootstrap/scheduler.ts"
import { bareOf, KEYS } from "../support/tokens.ts"

const folder = mkdtempSync(join(tmpdir(), "portolan-faces-"))
afterAll(() => rmSync(folder, { recursive: true }))

/** A client: something it does that needs its store, and its end. */
interface Client {
  readonly use: () => Promise<unknown>
  readonly close: () => Promise<void>
}

/** Nobody listens there: what is asked of the other side fails, and has to find the store open first. */
const NOBODY = "http://127.0.0.1:1"

const FACES: Readonly<Record<string, (path: string) => Client>> = {
  createScheduler: (journalPath) => {
    const scheduler = createScheduler({ baseUrl: NOBODY, journalPath })
    return { use: scheduler.unfinishedRestarts, close: scheduler.close }
  },
  createMedia: (journalPath) => {
    const media = createMedia({ graphUrl: NOBODY, apiVersion: "v25.0", accessToken: "t", accountId: "1", journalPath })
    const image = { kind: "image", imageUrl: "https://cdn.example.com/a.jpg" } as const
    return { use: () => media.plan(image), close: media.close }
  },
  openRecords: (sqlite) => {
    let records: Records | undefined
    return {
      use: async () => {
        records ??= await openRecords({ store: { sqlite }, realm: { keys: bareOf(KEYS.realm().publicKey) } })
        await Effect.runPromise(records.repository.ready)
      },
      close: async () => records?.close(),
    }
  },
}

/** What stands in the way of opening the file, until the function it gives is called. */
const OBSTACLES: Readonly<Record<string, (path: string) => () => void>> = {
  "a folder is in its place": (path) => {
    mkdirSync(path)
    return () => rmdirSync(path)
  },
  "another connection has locked it": (path) => {
    const other = new DatabaseSync(path)
    other.exec("PRAGMA journal_mode=WAL; BEGIN IMMEDIATE")
    return () => other.close()
  },
}

describe("a client whose store cannot be opened at first use", () => {
  for (const [obstacle, put] of Object.entries(OBSTACLES))
    for (const [face, make] of Object.entries(FACES))
      test(`${face}: says so while ${obstacle}, and works once it is away`, async () => {
        const path = join(folder, `${face}-${obstacle.length}.sqlite`)
        const remove = put(path)
        const client = make(path)
        // Two at a time: they may share an attempt.
        for (const failed of await Promise.allSettled([client.use(), client.use()]))
          expect(failed).toMatchObject({ status: "rejected", reason: { code: "STORE_UNAVAILABLE" } })
        remove()
        await Promise.all([client.use(), client.use()])
        await client.use()
        await client.close()
      })

  for (const [face, make] of Object.entries(FACES))
    if (face !== "openRecords")
      test(`${face}: is not opened again once it is closed`, async () => {
        const path = join(folder, `${face}-closed.sqlite`)
        mkdirSync(path)
        const client = make(path)
        const failed = client.use().catch((failure: { readonly code?: string }) => failure.code)
        expect(await failed).toBe("STORE_UNAVAILABLE")
        await client.close()
        rmdirSync(path)
        expect(client.use()).rejects.toThrow()
        await client.close()
      })
})
