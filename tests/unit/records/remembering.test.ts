import { deepEqual, equal, throws } from "node:assert/strict"
import { describe } from "node:test"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { remembering } from "../../../adapters/driven/record_repository/remembering.ts"
import { RecordRepository, type Stored } from "../../../domain/records/record_repository.ts"
import { StoreUnavailable } from "../../../domain/store_unavailable.ts"
import { effectTest } from "../../support/effect_test.ts"

const PAGE = { start: 0, limit: 10 }

const away = new StoreUnavailable({ store: { user: "-", host: "-", database: "-" }, reason: "away" })

/** A repository whose pages hold what `records` gives; it counts how often it was asked. */
const watched = (records: () => Effect.Effect<ReadonlyArray<Stored>, StoreUnavailable>) => {
  let lists = 0
  let version = "1"
  let reachable = true
  const unused = () => Effect.die(new Error("not part of these tests"))
  const repository = RecordRepository.of({
    list: () => {
      lists++
      return records()
    },
    get: unused,
    create: unused,
    createAll: unused,
    replace: unused,
    remove: unused,
    count: unused,
    prepare: unused,
    changes: unused,
    ready: Effect.void,
  })
  return {
    repository: remembering(repository, () => (reachable ? Effect.succeed(version) : Effect.fail(away))),
    lists: () => lists,
    write: (next: string) => {
      version = next
    },
    lose: () => {
      reachable = false
    },
  }
}

const onePage = () => watched(() => Effect.succeed([{ id: 1, tags: ["a"] }]))

describe("remembering()", () => {
  effectTest("asks once for a page, and again after any write", function* () {
    const { repository, lists, write } = onePage()
    for (let time = 0; time < 3; time++) deepEqual(yield* repository.list("c", PAGE), [{ id: 1, tags: ["a"] }])
    equal(lists(), 1)
    write("2")
    yield* repository.list("c", PAGE)
    equal(lists(), 2)
  })

  effectTest("keeps collections, starts and limits apart", function* () {
    const { repository, lists } = onePage()
    for (const collection of ["c", "d"])
      for (const page of [PAGE, { start: 1, limit: 10 }, { start: 0, limit: 11 }, { start: 1, limit: 0 }])
        yield* repository.list(collection, page)
    equal(lists(), 8)
  })

  effectTest("a remembered page is complete when the call returns", function* () {
    const { repository } = onePage()
    yield* repository.list("c", PAGE)
    equal(Exit.isExit(repository.list("c", PAGE)), true)
  })

  effectTest("a page that was read while somebody wrote is not taken for what came after", function* () {
    const answer = yield* Deferred.make<ReadonlyArray<Stored>>()
    const { repository, lists, write } = watched(() => Deferred.await(answer))
    const reading = yield* Effect.forkChild(repository.list("c", PAGE), { startImmediately: true })
    write("2")
    yield* Deferred.succeed(answer, [])
    yield* Fiber.join(reading)
    yield* repository.list("c", PAGE)
    equal(lists(), 2)
  })

  effectTest("a store that is away is away, whatever is remembered; a failure is not remembered", function* () {
    const { repository, lose } = onePage()
    yield* repository.list("c", PAGE)
    lose()
    equal(yield* Effect.flip(repository.list("c", PAGE)), away)

    const failing = watched(() => Effect.fail(away))
    for (let time = 0; time < 2; time++) yield* Effect.flip(failing.repository.list("c", PAGE))
    equal(failing.lists(), 2)
  })

  effectTest("nobody can change what others will be given", function* () {
    const [record] = yield* onePage().repository.list("c", PAGE)
    throws(() => Object.assign(record ?? {}, { id: 2 }), TypeError)
    throws(() => Object.assign(record?.["tags"] ?? {}, { 0: "b" }), TypeError)
  })

  effectTest("stays within its bound: a giant is not kept, and displaces nothing", function* () {
    let text = "small"
    const { repository, lists } = watched(() => Effect.sync(() => [{ id: 1, text }]))
    yield* repository.list("small", PAGE)
    text = "x".repeat(20_000_000)
    yield* repository.list("giant", PAGE)
    yield* repository.list("giant", PAGE)
    yield* repository.list("small", PAGE)
    equal(lists(), 3)
  })
})
