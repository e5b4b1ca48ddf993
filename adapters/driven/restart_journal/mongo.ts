import { Effect, Layer } from "effect"
import type { Collection, Db, Filter } from "mongodb"
import { parseLossless, stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"
import {
  type ClusterAt,
  isSameCluster,
  type Lease,
  RestartJournal,
  type RestartRecord,
} from "../../../domain/scheduler/restart_journal.ts"
import { MongoConnection } from "../mongo_connection.ts"

/** Fields are what the operations ask about; the record itself is text, which keeps integers of any size. */
interface Entry {
  readonly _id: string
  readonly stuck: boolean
  readonly createdAt: number
  readonly owner: string
  readonly leaseUntil: number
  readonly record: string
}

/** Says who takes over one lease that is over. */
interface Claim {
  readonly _id: string
  readonly until: number
}

const RESTARTS = "restarts"
const CLAIMS = "restart_claims"
const DUPLICATE_KEY = 11000

/** False when there is a document of this `_id` already. */
const insertOnce = async (claims: Collection<Claim>, claim: Claim): Promise<boolean> => {
  try {
    await claims.insertOne(claim)
    return true
  } catch (failure) {
    if (failure instanceof Error && "code" in failure && failure.code === DUPLICATE_KEY) return false
    throw failure
  }
}

const decode = ({ record }: Pick<Entry, "record">): RestartRecord => parseLossless(record) as RestartRecord

const changing = (record: RestartRecord, { until }: Lease) => ({
  stuck: record.state === "stuck",
  leaseUntil: until,
  record: stringifyLossless(record),
})

/**
 * The journal in MongoDB. Every operation changes single documents by what they hold now, so a lease has one winner.
 *
 * Leases are compared by the instances' own clocks: these must agree to within a lease.
 *
 * @fails {StoreUnavailable} when the index cannot be made
 */
export const layer = Layer.effect(
  RestartJournal,
  Effect.gen(function* () {
    const { run } = yield* MongoConnection
    const on = <A>(operation: (entries: Collection<Entry>) => Promise<A>) =>
      run((db: Db) => operation(db.collection<Entry>(RESTARTS)))
    yield* on((entries) => entries.createIndex({ createdAt: 1 }))

    /**
     * Takes every free record of the cluster. Of several owners who saw the same lease end, the one wins whose claim on that very lease
     * is inserted: a unique `_id` holds everywhere, while servers that only speak the protocol find and update in two
     * steps. Claims are swept once they are over; whoever comes late then finds the lease changed.
     */
    const claimAll = async (db: Db, at: ClusterAt, now: number, { owner, until }: Lease) => {
      const free: Filter<Entry> = { stuck: false, leaseUntil: { $lt: now }, owner: { $ne: owner } }
      const entries = db.collection<Entry>(RESTARTS)
      const claims = db.collection<Claim>(CLAIMS)
      await claims.deleteMany({ until: { $lt: now } })
      const claimed: Array<RestartRecord> = []
      for (const seen of await entries.find(free).sort({ createdAt: 1 }).toArray()) {
        const { _id, owner: before, leaseUntil } = seen
        if (!isSameCluster(decode(seen), at)) continue
        if (!(await insertOnce(claims, { _id: `${_id}@${before}@${leaseUntil}`, until }))) continue
        const lease = { $set: { owner, leaseUntil: until } }
        const { matchedCount } = await entries.updateOne({ _id, owner: before, leaseUntil }, lease)
        if (matchedCount === 1) claimed.push(decode(seen))
      }
      return claimed
    }

    return RestartJournal.of({
      shared: true,
      open: (record, lease) =>
        on((entries) =>
          entries.replaceOne(
            { _id: record.id },
            {
              createdAt: record.createdAt,
              owner: lease.owner,
              ...changing(record, lease),
            },
            { upsert: true },
          ),
        ).pipe(Effect.asVoid),
      update: (record, lease) =>
        Effect.map(
          on((entries) => entries.updateOne({ _id: record.id, owner: lease.owner }, { $set: changing(record, lease) })),
          ({ matchedCount }) => matchedCount === 1,
        ),
      close: (id, owner) =>
        Effect.map(
          on((entries) => entries.deleteOne({ _id: id, owner })),
          ({ deletedCount }) => deletedCount === 1,
        ),
      renew: (id, { owner, until }) =>
        Effect.asVoid(on((entries) => entries.updateOne({ _id: id, owner }, { $set: { leaseUntil: until } }))),
      release: (owner) =>
        Effect.asVoid(on((entries) => entries.updateMany({ owner }, { $set: { owner: "", leaseUntil: 0 } }))),
      claim: (at, now, lease) => run((db) => claimAll(db, at, now, lease)),
      settle: (ids) =>
        ids.length === 0
          ? Effect.void
          : Effect.asVoid(on((entries) => entries.deleteMany({ _id: { $in: [...ids] }, stuck: true }))),
      list: on(async (entries) => (await entries.find().sort({ createdAt: 1, _id: 1 }).toArray()).map(decode)),
    })
  }),
)
