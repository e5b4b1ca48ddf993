// Creates with a key, single and of several records, in a process that is killed with keys in flight, and asked again for
// each of them until it is answered: then no key has two sets of records, and none has a part of one.
import { Context, Effect, Layer } from "effect"
import { RecordRepository, type Stored } from "../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { type RepositoryProcess, startRepository } from "./repository_process.ts"

const COLLECTION = "keyed"

/** Keys that are asked for at a time. */
const IN_FLIGHT = 12

/** Answers between two kills, at least. */
const ANSWERS = 6

/** How often a start is tried: a file that another process holds a lock on refuses one after 2 s. */
const STARTS_MAX = 5

/** What the process was asked for and what it said. */
export interface KeyedAccount {
  /** The first id of each key, by every answer it got. */
  readonly answers: Map<string, ReadonlyArray<number>>
  /** Keys that were asked for and not answered when the process or the server was killed. */
  readonly cutOff: Set<string>
}

const start = async (address: string, tries = 1): Promise<RepositoryProcess> => {
  try {
    return await startRepository(address, COLLECTION)
  } catch (failure) {
    if (tries === STARTS_MAX) throw failure
    return start(address, tries + 1)
  }
}

/**
 * Runs rounds of keys with a kill in each, then asks again for every key there was, without a kill.
 *
 * @param address of the store
 * @param kill kills what is to be killed in this round; the process is started anew when it is that
 * @param waitMs gives a moment of the round, milliseconds
 */
export const killWithKeysInFlight = async (
  address: string,
  rounds: number,
  kill: (round: number, process: RepositoryProcess) => Promise<"process" | "server">,
  waitMs: () => number,
): Promise<KeyedAccount> => {
  const answers = new Map<string, ReadonlyArray<number>>()
  const cutOff = new Set<string>()
  const open = new Set<string>()
  let named = 0
  let child = await start(address)
  const ask = (key: string) => {
    open.add(key)
    child.send(`once ${key}`)
  }
  /** Reads answers until there are so many more; asks for a new key after each. */
  const hear = async (count: number, more: boolean): Promise<void> => {
    for (let heard = 0; heard < count; heard++) {
      const [key, firstId] = (await child.next()) as [string, number]
      answers.set(key, [...(answers.get(key) ?? []), firstId])
      open.delete(key)
      if (more) ask(`k${++named}`)
    }
  }
  while (open.size < IN_FLIGHT) ask(`k${++named}`)
  for (let round = 1; round <= rounds; round++) {
    await hear(ANSWERS, true)
    await Bun.sleep(waitMs())
    if ((await kill(round, child)) === "server") {
      for (const key of open) cutOff.add(key)
      continue
    }
    for (const key of open) cutOff.add(key)
    child = await start(address)
    // What was in flight is asked for again, and what was answered lately too.
    const again = [...open, ...[...answers.keys()].slice(-3)]
    for (const key of again) ask(key)
  }
  await hear(open.size, false)
  const all = [...answers.keys()]
  for (const key of all) ask(key)
  await hear(all.length, false)
  await child.end()
  return { answers, cutOff }
}

/** What was promised and did not come true; everything in it is empty when the store is right. */
export const brokenKeys = async (
  { answers }: KeyedAccount,
  records: Layer.Layer<RecordRepository, StoreUnavailable>,
) => {
  const kept: Array<Stored> = []
  await Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const repository = Context.get(yield* Layer.build(records), RecordRepository)
        for (;;) {
          const page = yield* repository.list(COLLECTION, { start: kept.length, limit: 1000 })
          if (page.length === 0) return
          kept.push(...page)
        }
      }),
    ),
  )
  const byKey = Map.groupBy(kept, ({ ["key"]: key }) => String(key))
  const wanted = (key: string, first: number) =>
    Array.from({ length: key.endsWith("1") ? 1 : 3 }, (_, at) => `${first + at} ${at}`).join()
  return {
    answeredDifferently: [...answers].filter(([, ids]) => new Set(ids).size !== 1).map(([key]) => key),
    notWhatWasAnswered: [...answers].flatMap(([key, [first = 0]]) => {
      const found = (byKey.get(key) ?? []).map(({ id, ["at"]: at }) => `${id} ${at}`).join()
      return found === wanted(key, first) ? [] : [`${key}: ${found}`]
    }),
    unasked: [...byKey.keys()].filter((key) => !answers.has(key)),
  }
}

/** {@link brokenKeys} of a store that is right. */
export const NO_BROKEN_KEYS: Awaited<ReturnType<typeof brokenKeys>> = {
  answeredDifferently: [],
  notWhatWasAnswered: [],
  unasked: [],
}
