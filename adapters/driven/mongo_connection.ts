import { Context, Effect, Layer, Redacted } from "effect"
import type { Db, MongoClient, MongoClientOptions } from "mongodb"
import { makeSecretMask } from "../../domain/secret_mask.ts"
import { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { type Connected, lastingClient } from "./mongo_client.ts"
import { loadDriver } from "./mongo_driver.ts"
import { databaseIn } from "./mongo_url.ts"

/** Which database, and how many connections to it. */
export interface MongoOptions {
  /** Connection string. The database comes from its path, else `portolan`. */
  readonly url: Redacted.Redacted<string>
  /** Most connections at a time; the driver's default when undefined. */
  readonly maxOpenConnections: number | undefined
  /** Most connections that stay open once idle; all of them when undefined, as the driver does. */
  readonly maxIdleConnections: number | undefined
  /** How long a surplus connection may be idle before it is closed, milliseconds; 10 000 when omitted. */
  readonly idleTimeoutMs?: number
  /** How long an operation waits for a server that can take it, milliseconds; 3000 when omitted. */
  readonly serverSelectionMs?: number
}

/** One MongoDB database, shared by every adapter that keeps something in it. */
export class MongoConnection extends Context.Service<
  MongoConnection,
  {
    /**
     * Runs operations of the driver. When the answer was lost, they may have been applied.
     *
     * @param operations gets a signal that is aborted when nobody waits any more: what has not been sent need not be
     * @fails {StoreUnavailable} on any error of the driver or the server, and after 18 s
     */
    readonly run: <A>(operations: (db: Db, signal: AbortSignal) => Promise<A>) => Effect.Effect<A, StoreUnavailable>
    /**
     * Ends an effect after as long as one operation may take: for what waits before it runs, or runs again.
     *
     * @fails {StoreUnavailable} after 18 s
     */
    readonly withinDeadline: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | StoreUnavailable>
    /** Says why this store cannot be used. */
    readonly refuse: (reason: string) => Effect.Effect<never, StoreUnavailable>
  }
>()("portolan/adapters/driven/MongoConnection") {}

/** How long an operation waits for a server, a connection from the pool, or an answer to its connecting. */
const SERVER_SELECTION_MS = 3_000
/** How long a server that has accepted an operation may take to answer. */
const SILENCE_MS = 10_000
/**
 * The longest that operations may take, all waiting included; mongo_client.ts says why the driver may wait forever. The
 * caller is promised an answer within 20 s: on a machine under load the rest is needed to give it.
 */
const OPERATION_MS = 18_000
/** How long a connection above the idle bound stays open unused. */
const IDLE_TIMEOUT_MS = 10_000

/**
 * Pool settings of the driver (specification 8).
 *
 * The driver has no bound on idle connections. It closes those idle for `maxIdleTimeMS` and keeps `minPoolSize` open,
 * which together leave that many.
 */
export const poolOptions = (
  options: Pick<MongoOptions, "maxOpenConnections" | "maxIdleConnections" | "idleTimeoutMs">,
): MongoClientOptions => {
  const { maxOpenConnections: open, maxIdleConnections: idle, idleTimeoutMs = IDLE_TIMEOUT_MS } = options
  return {
    ...(open === undefined ? {} : { maxPoolSize: open }),
    // The driver refuses a minimum above the maximum; the smaller bound is what both ask for.
    ...(idle === undefined ? {} : { minPoolSize: Math.min(idle, open ?? idle), maxIdleTimeMS: idleTimeoutMs }),
  }
}

const clientOptions = ({ serverSelectionMs = SERVER_SELECTION_MS, ...pool }: MongoOptions): MongoClientOptions => ({
  ...poolOptions(pool),
  appName: "portolan",
  serverSelectionTimeoutMS: serverSelectionMs,
  connectTimeoutMS: serverSelectionMs,
  waitQueueTimeoutMS: serverSelectionMs,
  socketTimeoutMS: SILENCE_MS,
  writeConcern: { w: "majority", wtimeoutMS: SILENCE_MS },
  // The driver writes a number as int32 or double, and the server turns a counter into int64: read all as numbers.
  promoteLongs: true,
})

/** What an error may say about the connection. The client holds the password: it is never logged or kept in an error. */
const describe = (client: MongoClient, database: string): StoreUnavailable["store"] => ({
  user: client.options.credentials?.username || "-",
  host: client.options.srvHost ?? client.options.hosts.map(String).join(","),
  database,
})

/** Quotes nothing of the string: what the driver takes for a host may be a piece of the password. */
const unreadable = () =>
  new StoreUnavailable({
    store: { user: "-", host: "-", database: "-" },
    reason: "the connection string cannot be read; '@', ':', '/' and '%' in a password must be percent-encoded",
  })

/**
 * Connects, and disconnects with the scope. The driver is loaded only here: it costs 70 ms.
 *
 * @fails {StoreUnavailable} when the string cannot be read, no server answers within 3 s, or the login is refused; the
 * error names user, host and database, never the password (specification 7)
 */
export const layer = (options: MongoOptions): Layer.Layer<MongoConnection, StoreUnavailable> =>
  Layer.effect(
    MongoConnection,
    Effect.gen(function* () {
      const { MongoClient, MongoError } = yield* Effect.promise(loadDriver)
      const open = (): Connected => {
        const url = Redacted.value(options.url)
        const client = new MongoClient(url, clientOptions(options))
        return { client, db: client.db(databaseIn(url)) }
      }
      const { current, failed, close } = yield* Effect.try({
        try: () => lastingClient(open, 2 * (options.serverSelectionMs ?? SERVER_SELECTION_MS)),
        catch: () => unreadable(),
      })
      const store = describe(current().client, current().db.databaseName)
      const mask = makeSecretMask([current().client.options.credentials?.password ?? ""])
      // The name of a cluster is looked up by the driver, which passes the system's own error on.
      const refused = (failure: unknown) =>
        failure instanceof MongoError || (failure instanceof Error && "syscall" in failure)
          ? Effect.fail(new StoreUnavailable({ store, reason: mask.text(failure.message) }))
          : Effect.die(failure)
      const withinDeadline = Effect.timeoutOrElse({
        duration: OPERATION_MS,
        orElse: () => Effect.fail(new StoreUnavailable({ store, reason: `no answer within ${OPERATION_MS} ms` })),
      })
      const run = <A>(operations: (db: Db, signal: AbortSignal) => Promise<A>): Effect.Effect<A, StoreUnavailable> =>
        Effect.suspend(() => {
          const connected = current()
          return Effect.tryPromise({
            try: (signal) => operations(connected.db, signal),
            catch: (failure) => failure,
          }).pipe(
            Effect.catch(refused),
            withinDeadline,
            Effect.tapError(() => Effect.sync(() => failed(connected))),
          )
        })

      yield* Effect.addFinalizer(() => Effect.promise(close))
      yield* run(() => current().client.connect())
      return MongoConnection.of({
        run,
        withinDeadline,
        refuse: (reason) => Effect.fail(new StoreUnavailable({ store, reason })),
      })
    }),
  )
