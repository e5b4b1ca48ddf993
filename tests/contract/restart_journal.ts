import { describe, test } from "bun:test"
import { deepEqual, equal } from "node:assert/strict"
import { Context, Effect, Layer, type Scope } from "effect"
import { type ClusterAt, RestartJournal, type RestartRecord } from "../../domain/scheduler/restart_journal.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"

type JournalLayer = Layer.Layer<RestartJournal, StoreUnavailable>

/** Unique, so that journals that outlive a test do not meet. */
const newEndpoint = (): string => `http://agent-${Math.random().toString(36).slice(2)}:4646`

const record = (endpoint: string, id: string, fields: Partial<RestartRecord> = {}): RestartRecord => ({
  id: `${endpoint}/${id}`,
  endpoint,
  jobId: "web/one",
  region: "",
  group: "restreamer",
  state: "intent",
  createdAt: 1_000,
  dueAt: 1_000,
  attempts: 0,
  ...fields,
})

/** The records of one endpoint: suites may share a journal. */
const listOf = (journal: RestartJournal["Service"], endpoint: string) =>
  Effect.map(journal.list, (all) => all.filter((each) => each.endpoint === endpoint))

/**
 * What every restart journal promises.
 *
 * @param instance a layer that, built twice, gives two instances on the same records when the journal is shared
 */
export const restartJournalContract = (
  name: string,
  instance: Effect.Effect<JournalLayer, never, Scope.Scope>,
): void => {
  const promise = (
    title: string,
    body: (
      journal: RestartJournal["Service"],
      endpoint: string,
      another: Effect.Effect<RestartJournal["Service"], StoreUnavailable, Scope.Scope>,
    ) => Effect.Effect<unknown, StoreUnavailable, Scope.Scope>,
  ): void => {
    test(title, () =>
      Effect.runPromise(
        Effect.gen(function* () {
          const layer = yield* instance
          const build = Effect.map(Layer.build(Layer.fresh(layer)), Context.get(RestartJournal))
          const journal = yield* build
          yield* body(journal, newEndpoint(), journal.shared ? build : Effect.succeed(journal))
        }).pipe(Effect.scoped),
      ),
    )
  }

  describe(`RestartJournal (${name})`, () => {
    promise("gives back exactly what was written, big integers included", (journal, endpoint) =>
      Effect.gen(function* () {
        const full = record(endpoint, "a", {
          namespace: "n",
          state: "stopped",
          stopIndex: 18446744073709551615n,
          lastError: "said 'no'",
          attempts: 3,
        })
        yield* journal.open(full, { owner: "me", until: 5_000 })
        deepEqual(yield* listOf(journal, endpoint), [full])
        deepEqual(yield* listOf(journal, newEndpoint()), [])
      }),
    )

    promise("lists the oldest first", (journal, endpoint) =>
      Effect.gen(function* () {
        for (const createdAt of [3_000, 1_000, 2_000])
          yield* journal.open(record(endpoint, String(createdAt), { createdAt }), { owner: "me", until: 5_000 })
        deepEqual(
          (yield* listOf(journal, endpoint)).map(({ createdAt }) => createdAt),
          [1_000, 2_000, 3_000],
        )
      }),
    )

    promise("only the owner's writes count", (journal, endpoint, another) =>
      Effect.gen(function* () {
        const mine = record(endpoint, "a")
        yield* journal.open(mine, { owner: "me", until: 5_000 })
        const other = yield* another
        equal(yield* other.update({ ...mine, state: "starting" }, { owner: "you", until: 9_000 }), false)
        equal(yield* other.close(mine.id, "you"), false)
        deepEqual(yield* listOf(journal, endpoint), [mine])
        equal(yield* journal.update({ ...mine, state: "stopped" }, { owner: "me", until: 6_000 }), true)
        equal((yield* listOf(other, endpoint))[0]?.state, "stopped")
        equal(yield* journal.close(mine.id, "me"), true)
        equal(yield* journal.close(mine.id, "me"), false)
        deepEqual(yield* listOf(other, endpoint), [])
      }),
    )

    promise("a lease is taken over once it is over, by one owner only", (journal, endpoint, another) =>
      Effect.gen(function* () {
        for (const id of ["a", "b", "c"]) yield* journal.open(record(endpoint, id), { owner: "dead", until: 5_000 })
        deepEqual(yield* journal.claim({ endpoint }, 5_000, { owner: "one", until: 10_000 }), [])
        const rivals = yield* Effect.all([another, another, another, another])
        const claims = yield* Effect.all(
          rivals.map((rival, index) => rival.claim({ endpoint }, 5_001, { owner: `rival ${index}`, until: 10_000 })),
          { concurrency: "unbounded" },
        )
        deepEqual(
          claims
            .flat()
            .map(({ id }) => id)
            .sort(),
          ["a", "b", "c"].map((id) => `${endpoint}/${id}`),
        )
        equal(yield* journal.update(record(endpoint, "a"), { owner: "dead", until: 20_000 }), false)
      }),
    )

    promise("an owner does not claim what it already works on", (journal, endpoint) =>
      Effect.gen(function* () {
        yield* journal.open(record(endpoint, "a"), { owner: "me", until: 5_000 })
        deepEqual(yield* journal.claim({ endpoint }, 6_000, { owner: "me", until: 10_000 }), [])
      }),
    )

    promise("a renewed lease holds, another's cannot be renewed", (journal, endpoint) =>
      Effect.gen(function* () {
        const mine = record(endpoint, "a")
        yield* journal.open(mine, { owner: "me", until: 5_000 })
        yield* journal.renew(mine.id, { owner: "me", until: 8_000 })
        yield* journal.renew(mine.id, { owner: "you", until: 99_000 })
        deepEqual(yield* journal.claim({ endpoint }, 7_000, { owner: "you", until: 20_000 }), [])
        equal((yield* journal.claim({ endpoint }, 8_001, { owner: "you", until: 20_000 })).length, 1)
      }),
    )

    promise("what is given back can be claimed at once", (journal, endpoint) =>
      Effect.gen(function* () {
        yield* journal.open(record(endpoint, "a"), { owner: endpoint, until: 5_000 })
        yield* journal.release(endpoint)
        equal((yield* journal.claim({ endpoint }, 1, { owner: "you", until: 5_000 })).length, 1)
      }),
    )

    promise("stuck ones are nobody's to claim; they are settled by their ids, others are not", (journal, endpoint) =>
      Effect.gen(function* () {
        const stuck = record(endpoint, "a", { state: "stuck" })
        const another = record(endpoint, "b", { state: "stuck" })
        const open = record(endpoint, "c", { state: "stopped" })
        for (const each of [stuck, another, open]) yield* journal.open(each, { owner: "dead", until: 99_000 })
        deepEqual(yield* journal.claim({ endpoint }, 9_000, { owner: "me", until: 10_000 }), [])
        yield* journal.settle([])
        yield* journal.settle([stuck.id, open.id, "unknown"])
        deepEqual(yield* listOf(journal, endpoint), [another, open])
      }),
    )

    promise("a record is claimed for its cluster, whatever the address, and listed for all", (journal, endpoint) =>
      Effect.gen(function* () {
        const keys = { old: `${endpoint}/old`, now: `${endpoint}/now` }
        const known = record(endpoint, "a", { cluster: [keys.old, keys.now] })
        const unknown = record(endpoint, "b")
        for (const each of [known, unknown]) yield* journal.open(each, { owner: "dead", until: 0 })
        const claimed = (at: ClusterAt, owner: string) =>
          Effect.map(journal.claim(at, 9_000, { owner, until: 9_000 }), (all) => all.map(({ id }) => id))
        const elsewhere = `${endpoint}/elsewhere`
        deepEqual(yield* claimed({ endpoint: elsewhere, cluster: ["another"] }, "one"), [])
        deepEqual(yield* claimed({ endpoint: elsewhere, cluster: [] }, "one"), [])
        // Every machine has an agent at its localhost: the same address may be another cluster.
        deepEqual(yield* claimed({ endpoint, cluster: ["another"] }, "two"), [unknown.id])
        deepEqual(yield* claimed({ endpoint: elsewhere, cluster: [keys.now] }, "three"), [known.id])
        deepEqual(yield* listOf(journal, endpoint), [known, unknown])
      }),
    )

    promise("opening again takes the record back, from another owner and after it was closed", (journal, endpoint) =>
      Effect.gen(function* () {
        const mine = record(endpoint, "a")
        yield* journal.open(mine, { owner: "me", until: 1_000 })
        equal((yield* journal.claim({ endpoint }, 2_000, { owner: "you", until: 9_000 })).length, 1)
        const again = { ...mine, state: "stopped" as const }
        yield* journal.open(again, { owner: "me", until: 9_000 })
        equal(yield* journal.close(mine.id, "you"), false)
        deepEqual(yield* listOf(journal, endpoint), [again])
        yield* journal.close(mine.id, "me")
        yield* journal.open(again, { owner: "me", until: 9_000 })
        deepEqual(yield* listOf(journal, endpoint), [again])
      }),
    )
  })
}
