// The whole service on a real socket, over the memory store unless told otherwise, with everything it logged.
import { afterAll } from "bun:test"
import { Context, Effect, Layer } from "effect"
import * as memoryRecords from "../../adapters/driven/record_repository/memory.ts"
import * as joseVerifier from "../../adapters/driven/token_verifier/jose.ts"
import { listen } from "../../bootstrap/listen.ts"
import { makeLog } from "../../bootstrap/log_output.ts"
import { makeService, type Service, type ServiceOptions } from "../../bootstrap/service.ts"
import type { Collection } from "../../domain/records/collection.ts"
import { products } from "../../domain/records/products.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { KEYS, pemOf, tokenKit } from "./tokens.ts"

export interface TestService {
  readonly url: string
  /** An access token of the test realm holding these roles. */
  readonly token: (...roles: ReadonlyArray<string>) => string
  /** Sends a request with a good token unless `init` brings its own Authorization header. */
  readonly send: (path: string, init?: RequestInit) => Promise<Response>
  readonly create: (fields: unknown, init?: RequestInit) => Promise<Response>
  /** Calls that reached the store so far. */
  readonly storeCalls: () => number
  readonly routes: Service["routes"]
  readonly log: () => string
  readonly stop: () => Promise<void>
}

interface TestServiceOptions
  extends Partial<
    Pick<
      ServiceOptions,
      "extend" | "verifier" | "separateAdmin" | "maxInFlight" | "maxFeeds" | "corsOrigins" | "areas" | "telemetry"
    >
  > {
  readonly collections?: ReadonlyArray<Collection<object>>
  readonly repository?: Layer.Layer<RecordRepository, StoreUnavailable>
}

/** Counts every call of the repository. */
const counted = (repository: RecordRepository["Service"], count: () => void): RecordRepository["Service"] => {
  const through =
    <Args extends ReadonlyArray<unknown>, A>(method: (...args: Args) => A) =>
    (...args: Args): A => {
      count()
      return method(...args)
    }
  return {
    list: through(repository.list),
    get: through(repository.get),
    create: through(repository.create),
    createAll: through(repository.createAll),
    replace: through(repository.replace),
    remove: through(repository.remove),
    count: through(repository.count),
    ready: repository.ready,
    prepare: repository.prepare,
    changes: through(repository.changes),
  }
}

export const startService = async (options: TestServiceOptions = {}): Promise<TestService> => {
  const lines: Array<string> = []
  let calls = 0
  const repository = Layer.effect(
    RecordRepository,
    Effect.gen(function* () {
      const context = yield* Layer.build(options.repository ?? memoryRecords.layer)
      return counted(Context.get(context, RecordRepository), () => calls++)
    }),
  )
  const service = await makeService({
    log: makeLog({ LOG_LEVEL: "debug", LOG_FORMAT: "json" }, { write: (line) => lines.push(line), flush: () => {} }),
    collections: options.collections ?? [products],
    repository,
    verifier: options.verifier ?? joseVerifier.layer({ keys: pemOf(KEYS.realm().publicKey) }),
    separateAdmin: options.separateAdmin ?? false,
    maxInFlight: options.maxInFlight ?? 1024,
    maxFeeds: options.maxFeeds ?? 256,
    ...(options.corsOrigins === undefined ? {} : { corsOrigins: options.corsOrigins }),
    ...(options.extend === undefined ? {} : { extend: options.extend }),
    ...(options.telemetry === undefined ? {} : { telemetry: options.telemetry }),
    ...(options.areas === undefined ? {} : { areas: options.areas }),
  })
  const listener = listen(service.fetch, { hostname: "127.0.0.1", port: 0 })
  const kit = tokenKit(Math.floor(Date.now() / 1000))
  const token = (...roles: ReadonlyArray<string>) => kit.access({ realm_access: { roles } })
  const ordinary = token("user")
  const send: TestService["send"] = (path, init = {}) => {
    const headers = new Headers(init.headers)
    if (!headers.has("authorization")) headers.set("authorization", `Bearer ${ordinary}`)
    return fetch(`${listener.url}${path}`, { ...init, headers })
  }
  return {
    url: listener.url,
    token,
    send,
    create: (fields, init = {}) => {
      const headers = new Headers(init.headers)
      if (!headers.has("content-type")) headers.set("content-type", "application/json")
      return send("/api/products", { ...init, method: "POST", headers, body: JSON.stringify(fields) })
    },
    storeCalls: () => calls,
    routes: service.routes,
    log: () => lines.join("\n"),
    stop: async () => {
      service.endFeeds()
      await listener.stop()
      await service.close()
    },
  }
}

/** The service of all tests of a file, stopped after them. */
export const sharedService = async (options: TestServiceOptions = {}): Promise<TestService> => {
  const service = await startService(options)
  afterAll(() => service.stop())
  return service
}
