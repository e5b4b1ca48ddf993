// Writers that are killed and started again, what they were told of their records, and what of that did not come true.
import { Context, Effect, Layer, Redacted } from "effect"
import * as connection from "../../adapters/driven/mongo_connection.ts"
import * as mongoRecords from "../../adapters/driven/record_repository/mongo.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"
import type { MongoServer } from "./real_servers.ts"
import { type RepositoryProcess, startRepository } from "./repository_process.ts"

const LANES = 8

/** How often a start is tried. A file whose lock another writer has nearly all the time refuses a start after 2 s. */
const STARTS_MAX = 5

/** How long a store may take to answer again after a kill, on a machine under heavy load. */
const BACK_MS = 60_000

/** The collection that every writer writes to. */
const COLLECTION = "churned"

/** What the writers were told, in the order in which they were told. */
export interface Told {
  readonly created: Array<number>
  /** Ids by lane: a lane creates the next record only once it knows of the last one. */
  readonly byLane: Map<string, Array<number>>
  /** Deleted for certain. */
  readonly deleted: Set<number>
  /** Perhaps deleted: the delete was called. */
  readonly deleting: Set<number>
  /** Processes that did not start. */
  readonly refusedStarts: Array<Error>
}

export const nothingTold = (): Told => ({
  created: [],
  byLane: new Map(),
  deleted: new Set(),
  deleting: new Set(),
  refusedStarts: [],
})

/** Waits until so many more creates were acknowledged. */
export const moreCreates = async (told: Told, count: number): Promise<void> => {
  const wanted = told.created.length + count
  const deadline = performance.now() + BACK_MS
  while (told.created.length < wanted) {
    if (performance.now() > deadline) throw new Error(`Waited in vain for ${count} creates`)
    await Bun.sleep(5)
  }
}

/** A writer that can be killed and started again; several processes of it, one after the other, write one account. */
export const startWriter = async (address: string, name: string, told: Told) => {
  let child: RepositoryProcess
  let listening: Promise<void>
  const listen = async (process: RepositoryProcess) => {
    for (;;) {
      const line = await process.next().catch(() => undefined)
      if (line === undefined) return
      const [what, lane, id] = line as [string, number, number]
      if (what === "deleting") told.deleting.add(id)
      if (what === "deleted") told.deleted.add(id)
      if (what !== "created") continue
      told.created.push(id)
      const key = `${name} ${lane}`
      const ids = told.byLane.get(key) ?? []
      ids.push(id)
      told.byLane.set(key, ids)
    }
  }
  const start = async (tries = 1): Promise<void> => {
    try {
      child = await startRepository(address, COLLECTION)
    } catch (failure) {
      if (tries === STARTS_MAX || !(failure instanceof Error)) throw failure
      told.refusedStarts.push(failure)
      return start(tries + 1)
    }
    child.send(`churn ${LANES}`)
    listening = listen(child)
  }
  const kill = async () => {
    await child.kill()
    await listening
  }
  await start()
  return { start: () => start(), kill }
}

/** Ids of all records that are kept, in the order of the list. */
export const keptIds = (records: Layer.Layer<RecordRepository, StoreUnavailable>): Promise<ReadonlyArray<number>> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const repository = Context.get(yield* Layer.build(records), RecordRepository)
        const ids: Array<number> = []
        for (;;) {
          const page = yield* repository.list(COLLECTION, { start: ids.length, limit: 1000 })
          if (page.length === 0) return ids
          ids.push(...page.map(({ id }) => id))
        }
      }),
    ),
  )

/** The records of a database on a real server, as the service keeps them there. */
export const mongoRecordsIn = (server: MongoServer, url: string): Layer.Layer<RecordRepository, StoreUnavailable> =>
  Layer.provide(
    mongoRecords.layer({ singleWriter: !server.atomicUpdates }),
    connection.layer({ url: Redacted.make(url), maxOpenConnections: undefined, maxIdleConnections: undefined }),
  )

const isAscending = (ids: ReadonlyArray<number>): boolean => ids.every((id, at) => at === 0 || id > (ids[at - 1] ?? id))

/**
 * What was promised and did not come true; everything in it is empty when the store is right.
 *
 * @param kept the ids that a list gives once every writer has ended
 */
export const broken = ({ created, byLane, deleted, deleting }: Told, kept: ReadonlyArray<number>) => {
  const found = new Set(kept)
  const seen = new Set<number>()
  return {
    givenTwice: created.filter((id) => seen.size === seen.add(id).size),
    outOfOrder: [...byLane].filter(([, ids]) => !isAscending(ids)).map(([lane]) => lane),
    listedOutOfOrder: isAscending(kept) ? [] : ["the list"],
    lost: created.filter((id) => !deleting.has(id) && !found.has(id)),
    backAfterDelete: [...deleted].filter((id) => found.has(id)),
  }
}

/** {@link broken} of a store that is right. */
export const NOTHING_BROKEN: ReturnType<typeof broken> = {
  givenTwice: [],
  outOfOrder: [],
  listedOutOfOrder: [],
  lost: [],
  backAfterDelete: [],
}
