// Creates of several records, and creates with a key, over documents that hold them until all are in (mongo_batches.ts).
import { Deferred, Effect, Schedule } from "effect"
import type { Db } from "mongodb"
import { type Created, type CreateKey, KEY_LIFE_MS } from "../../../domain/records/create_key.ts"
import { KeyInUse, KeyReused, NotUnique } from "../../../domain/records/errors.ts"
import type { Fields } from "../../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../../domain/store_unavailable.ts"
import type { MongoConnection } from "../mongo_connection.ts"
import {
  type BatchDocument,
  batchesOf,
  completeBatch,
  forgetOldKeys,
  forgetSurplusKeys,
  keysOf,
  leaseEnd,
  prepareKeys,
  storeBatch,
  takeOver,
} from "./mongo_batches.ts"
import { type FindTaken, IdTaken, NEXT_TRY } from "./mongo_creates.ts"
import { type Ids, isDuplicateKey } from "./mongo_sequence.ts"

/** How often batches are looked for that another process left open when it ended. */
const SWEEP_PERIOD = "1 minute"

/** Pause before a batch that could not be ended is tried again. */
const NEXT_COMPLETION = Schedule.spaced("1 second")

/** Keys that are remembered between two looks at which ones to forget. */
const FORGET_EVERY = 256

/** A batch that this process has begun and not ended. */
interface Begun {
  readonly batch: BatchDocument
  readonly ended: Deferred.Deferred<void>
}

/** @throws the server's error for anything but an id that another first create took */
const nextId = (db: Db, { sequences }: Ids, collection: string, count: number): Promise<number | IdTaken> =>
  sequences.next(db, collection, count).catch((failure) => {
    if (!isDuplicateKey(failure)) throw failure
    return new IdTaken({ refusal: failure })
  })

/** @returns false when there is a batch of this name, or its key is remembered by now */
const begin = async (db: Db, batch: BatchDocument): Promise<boolean> => {
  try {
    await batchesOf(db).insertOne(batch)
  } catch (failure) {
    if (isDuplicateKey(failure)) return false
    throw failure
  }
  if (batch.key === undefined || (await keysOf(db).findOne({ _id: batch._id })) === null) return true
  await batchesOf(db).deleteOne({ _id: batch._id })
  return false
}

/**
 * Makes the function that creates all or none, and ends the batches that a process which was killed left open: now when this
 * one alone writes, else once their time is over.
 *
 * While a batch is inserted, a list may show its first records. When the process or the server ends meanwhile, the others
 * follow after the next start. Only a batch that the server refuses in the midst shows records that go again.
 *
 * A record that another instance deletes while the batch is inserted comes back when the process that inserts it is killed in
 * that same moment, and the deleted one was the last that it had inserted.
 *
 * @param ids the sequences of this process
 * @param taken finds the unique field for which the server refused a record
 * @param singleWriter true when no other process writes to the database
 * @returns also `settled`, which waits until a record belongs to no batch that this process is inserting
 */
export const makeCreateAll = Effect.fnUntraced(function* (
  { run, withinDeadline }: MongoConnection["Service"],
  ids: Ids,
  taken: FindTaken,
  singleWriter: boolean,
) {
  const begun = new Map<string, Begun>()
  const scope = yield* Effect.scope
  let prepared = false
  let keyed = 0

  const end = (id: string): void => {
    const entry = begun.get(id)
    begun.delete(id)
    if (entry !== undefined) Deferred.doneUnsafe(entry.ended, Effect.void)
  }

  /** For a batch of which nobody knows how it ended: until it has. */
  const completeLater = (id: string) =>
    run((db) => completeBatch(db, id)).pipe(
      Effect.retry(NEXT_COMPLETION),
      Effect.andThen(Effect.sync(() => end(id))),
      Effect.forkIn(scope),
    )

  const prepare = Effect.suspend(() =>
    prepared
      ? Effect.void
      : Effect.map(run(prepareKeys), () => {
          prepared = true
        }),
  )

  /** What the key says already: the first call's result, a refusal, or nothing. */
  const known = Effect.fnUntraced(function* (collection: string, id: string, { digest, atMs }: CreateKey) {
    const reused = new KeyReused({ collection })
    // A batch is looked for first: one that ends meanwhile has left its key.
    const batch = yield* run((db) => batchesOf(db).findOne({ _id: id }))
    if (batch !== null) {
      if (batch.key?.digest !== digest) return yield* reused
      if (begun.has(id) || (yield* run((db) => takeOver(db, new Date(), id))) === null)
        return yield* new KeyInUse({ collection })
      yield* run((db) => completeBatch(db, id))
    }
    const key = yield* run((db) => keysOf(db).findOne({ _id: id }))
    if (key === null) return undefined
    if (key.at.getTime() <= atMs - KEY_LIFE_MS) {
      yield* run((db) => keysOf(db).deleteOne({ _id: id, at: key.at }))
      return undefined
    }
    if (key.digest !== digest) return yield* reused
    const created: Created = { firstId: key.first, firstAtMs: key.at.getTime() }
    return created
  })

  /** @fails {IdTaken} when the ids were somebody else's; nothing is stored then */
  const attempt = Effect.fnUntraced(function* (
    id: string,
    collection: string,
    records: ReadonlyArray<Fields>,
    key: CreateKey | undefined,
  ) {
    const first = yield* ids.inTurn(
      collection,
      run((db) => nextId(db, ids, collection, records.length)),
    )
    if (typeof first !== "number") return yield* first
    // Another call with the key has come this far.
    if (begun.has(id)) return yield* new KeyInUse({ collection })
    const batch: BatchDocument = {
      _id: id,
      collection,
      first,
      last: first + records.length - 1,
      records: JSON.stringify(records),
      until: leaseEnd(),
      ...(key === undefined
        ? {}
        : {
            key: { _id: id, collection, caller: key.caller, digest: key.digest, first, at: new Date(key.atMs) },
          }),
    }
    begun.set(id, { batch, ended: Deferred.makeUnsafe() })
    const work = Effect.gen(function* () {
      if (!(yield* run((db) => begin(db, batch)))) return "exists"
      return yield* run((db, signal) => storeBatch(db, batch, taken, signal))
    })
    const ended = yield* Effect.onError(work, () => completeLater(id))
    end(id)
    if (ended === "id taken") {
      ids.sequences.taken(collection)
      return yield* new IdTaken({ refusal: new Error(`An id of '${collection}' was taken`) })
    }
    if (ended === "exists") return yield* new KeyInUse({ collection })
    if (ended !== "stored" && "field" in ended) return yield* new NotUnique({ collection, ...ended })
    if (ended !== "stored") return yield* run(() => Promise.reject(ended.refusal))
    const created: Created = { firstId: first }
    return created
  })

  const createAll = (
    collection: string,
    records: ReadonlyArray<Fields>,
    key?: CreateKey,
  ): Effect.Effect<Created, NotUnique | KeyReused | KeyInUse | StoreUnavailable> => {
    const id = JSON.stringify(key === undefined ? [collection, crypto.randomUUID()] : [collection, key.caller, key.key])
    const create = Effect.retry(attempt(id, collection, records, key), {
      while: (failure) => failure._tag === "IdTaken",
      schedule: NEXT_TRY,
    }).pipe(Effect.catchTag("IdTaken", ({ refusal }) => run(() => Promise.reject(refusal))))
    const createOnce = Effect.gen(function* () {
      yield* prepare
      if (key === undefined) return yield* create
      const earlier = yield* known(collection, id, key)
      if (earlier !== undefined) return earlier
      const created = yield* create
      if (keyed++ % FORGET_EVERY === 0)
        yield* run((db) => forgetOldKeys(db, key.atMs)).pipe(
          Effect.andThen(run((db) => forgetSurplusKeys(db, collection, key.caller))),
          Effect.catch((failure) => Effect.logWarning(`Old keys are not forgotten now: ${failure.message}`)),
          Effect.forkIn(scope),
        )
      return created
    })
    return withinDeadline(createOnce)
  }

  const settled = (collection: string, id: number): Effect.Effect<unknown, StoreUnavailable> => {
    for (const { batch, ended } of begun.values())
      if (batch.collection === collection && id >= batch.first && id <= batch.last)
        return withinDeadline(Deferred.await(ended))
    return Effect.void
  }

  /** Ends the batches that were left open, until there is none. */
  const sweep = (all: boolean): Effect.Effect<void, StoreUnavailable> =>
    Effect.gen(function* () {
      const left = yield* run((db) => takeOver(db, all ? undefined : new Date()))
      if (left === null) return
      yield* run((db) => completeBatch(db, left._id))
      yield* sweep(all)
    })
  const sweepAndGoOn = (all: boolean) =>
    sweep(all).pipe(Effect.catch((failure) => Effect.logWarning(`Batches left open: ${failure.message}`)))

  yield* sweepAndGoOn(singleWriter)
  yield* Effect.forkScoped(Effect.repeat(Effect.delay(sweepAndGoOn(false), SWEEP_PERIOD), Schedule.forever))
  return { createAll, settled }
})
