import { Clock, Effect, Metric, Schedule, type Scope, Semaphore } from "effect"
import { InvalidIdentitySetup, KeysUnavailable } from "../../../domain/identity/errors.ts"
import { type ExchangeResponse, send } from "../http_exchange.ts"
import { type RealmKey, readKeySet } from "./jose_keys.ts"

/** Least seconds between two fetches caused by tokens of unknown keys: a flood of made-up key ids does not reach the realm. */
export const COOL_DOWN_S = 30

/**
 * Most tokens that wait for a fetch. Anybody can send a token with an unknown key id: without a bound, forged ones would fill
 * the places of running requests for as long as the realm takes to answer.
 */
export const WAITING_MAX = 256

/** Least seconds between two fetches while no key was ever seen. */
const RETRY_S = 1

/** Seconds between two regular fetches: a key withdrawn by the realm, be it the last one, stops working within this time. */
export const REFRESH_S = 300

/** Milliseconds a fetch may take. */
const TIMEOUT_MS = 5000

/** A realm publishes a handful of keys of some 2 kB; a longer answer is not read to its end. */
const KEY_SET_BYTES_MAX = 2 ** 20

const fetchesEnding = (outcome: "ok" | "failed") =>
  Metric.counter("portolan.key_fetches", {
    description: "Fetches of the realm's keys; a failed one leaves the known keys in force",
    incremental: true,
    attributes: { outcome },
  })
const FETCHES = { ok: fetchesEnding("ok"), failed: fetchesEnding("failed") }

/** The keys of a realm as its JWKS address publishes them, kept up to date. */
export interface KeySet {
  /** Keys known now; empty until the first fetch succeeds, and while the realm publishes none of use. */
  readonly known: () => ReadonlyArray<RealmKey>
  /** Fails while no key is known, with what became of the last fetch; fetches nothing. */
  readonly ready: Effect.Effect<void, KeysUnavailable>
  /**
   * Fetches again, unless that was done a moment ago. Concurrent callers share one fetch.
   *
   * @fails {KeysUnavailable} when no key is known afterwards, or {@link WAITING_MAX} callers wait already; a fetch that brings no key set leaves the known keys in force
   */
  readonly refresh: Effect.Effect<void, KeysUnavailable>
}

/** Takes the address apart for an exchange. */
const checked = (address: string) => {
  const url = URL.canParse(address) ? new URL(address) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) && url.username === "" && url.password === ""
    ? Effect.succeed({ url: url.origin + url.pathname, query: url.search.slice(1) })
    : Effect.fail(
        new InvalidIdentitySetup({
          option: "jwksUrl",
          rule: "must be an http or https address without user or password",
        }),
      )
}

/**
 * Follows a JWKS address for as long as the scope is open.
 *
 * An address that does not answer at start is no setup error: service and realm may start together.
 *
 * @param address of the JWKS document
 * @param onChange called after the set of keys has changed
 * @param timeoutMs milliseconds a fetch may take
 * @fails {InvalidIdentitySetup} when the address can never work
 */
export const followKeySet = Effect.fnUntraced(function* (
  address: string,
  onChange: () => void,
  timeoutMs = TIMEOUT_MS,
): Effect.fn.Return<KeySet, InvalidIdentitySetup, Scope.Scope> {
  const { url, query } = yield* checked(address)
  const one = yield* Semaphore.make(1)
  let known: ReadonlyArray<RealmKey> = []
  let knownText = ""
  let fetches = 0
  let waiting = 0
  let lastAskedS = Number.NEGATIVE_INFINITY
  let lastFailure = "not fetched yet"

  /**
   * Keeps the keys of an answer, also when they are none: a realm may withdraw its last key.
   *
   * @fails {KeysUnavailable} when the answer is no key set
   */
  const take = Effect.fnUntraced(function* ({ status, text }: ExchangeResponse) {
    if (status !== 200) return yield* new KeysUnavailable({ reason: `status ${status}` })
    const keys = yield* readKeySet(text)
    if (keys === undefined) return yield* new KeysUnavailable({ reason: "the answer is no key set" })
    if (keys.length === 0) lastFailure = "the key set holds no RS256 key"
    if (text === knownText) return
    known = keys
    knownText = text
    onChange()
    yield* keys.length === 0
      ? Effect.logWarning("The realm publishes no RS256 key: no token can be accepted")
      : Effect.logInfo(`Keys of the realm in force: ${keys.length}`)
  })

  /** Never fails: a fetch that brings no key set leaves the known keys in force. */
  const fetchNow = send({
    method: "GET",
    url,
    ...(query === "" ? {} : { query }),
    headers: { accept: "application/json" },
    timeoutMs,
    bodyBytesMax: KEY_SET_BYTES_MAX,
  }).pipe(
    Effect.catchTag("ExchangeFailed", ({ kind }) => new KeysUnavailable({ reason: kind })),
    Effect.flatMap(take),
    Effect.andThen(Metric.update(FETCHES.ok, 1)),
    Effect.catchTag("KeysUnavailable", (failure) => {
      lastFailure = failure.reason
      return Effect.andThen(
        Metric.update(FETCHES.failed, 1),
        Effect.logWarning(`${failure.message}${known.length === 0 ? "" : ". The known keys stay in force"}`),
      )
    }),
    // An interrupted fetch is not counted, so that a caller who waited for it fetches for itself.
    Effect.andThen(Effect.sync(() => fetches++)),
  )

  const fetchUnlessRecent = Effect.fnUntraced(function* () {
    const nowS = (yield* Clock.currentTimeMillis) / 1000
    if (nowS - lastAskedS < (known.length === 0 ? RETRY_S : COOL_DOWN_S)) return
    yield* fetchNow
    lastAskedS = nowS
  })

  yield* one
    .withPermits(1)(fetchNow)
    .pipe(Effect.repeat(Schedule.spaced(`${REFRESH_S} seconds`)), Effect.forkScoped({ startImmediately: true }))

  const ready = Effect.suspend(() =>
    known.length > 0 ? Effect.void : Effect.fail(new KeysUnavailable({ reason: lastFailure })),
  )

  const refreshed = Effect.gen(function* () {
    const seen = fetches
    // A fetch that ended while this caller waited serves it as well.
    yield* one.withPermits(1)(Effect.suspend(() => (fetches === seen ? fetchUnlessRecent() : Effect.void)))
    yield* ready
  })
  const refresh = Effect.suspend(() => {
    if (waiting >= WAITING_MAX) return Effect.fail(new KeysUnavailable({ reason: "too many tokens wait for the keys" }))
    waiting++
    return Effect.ensuring(
      refreshed,
      Effect.sync(() => waiting--),
    )
  })

  return {
    known: () => known,
    ready,
    refresh,
  }
})
