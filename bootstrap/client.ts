// The library's client face, `portolan/client`: one collection of a running service, over `fetch` alone. It is for browsers, Bun,
// Deno and Node, and brings nothing but itself.
//
//   import { createClient } from "portolan/client"
//   import type { products } from "./collections.ts"
//
//   const client = createClient<typeof products, "price">({ url: "https://api.example.com/api/products", token: () => login.token })
//   for await (const product of client.all({ where: { price: { gte: 10 } }, order: ["price.desc"] })) console.log(product.name)
import { ApiError, problemOf } from "./client_error.ts"
import { readServerEvents } from "./client_events.ts"
import { listParameters, nextCursor } from "./client_query.ts"
import type {
  CallOptions,
  ChangeOptions,
  ClientChange,
  CreateOptions,
  FieldsOf,
  ListQuery,
  Page,
  Patch,
  RecordOf,
  Submitted,
} from "./client_types.ts"

export type {
  CallOptions,
  ChangeOptions,
  ClientChange,
  CreateOptions,
  FieldsOf,
  ListQuery,
  Page,
  Patch,
  RecordOf,
  Submitted,
  Where,
} from "./client_types.ts"
export { ApiError }

/** Where the collection is, and how to get in. */
export interface ClientOptions {
  /** Address of the collection: `https://api.example.com/api/products`. */
  readonly url: string
  /** An access token, or what gives one for each request. */
  readonly token: string | (() => string | Promise<string>)
  /** Longest time for one answer, milliseconds; 30,000 when omitted. It does not count for the feed of changes. */
  readonly timeoutMs?: number
  /** Pause before a feed that broke is opened again, milliseconds; twice as long after each failure, up to 30 s. 1000 when omitted. */
  readonly reconnectMs?: number
  /** What sends requests; the runtime's own `fetch` when omitted. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** One collection of a running service. Every call throws {@link ApiError} for a refusal, and what `fetch` throws. */
export interface CollectionClient<C extends object, Optional extends PropertyKey = never> {
  /** One page: `start` records are skipped. For all records, {@link CollectionClient.all} is faster, and stable under writes. */
  readonly list: <const Select extends keyof RecordOf<C> = keyof RecordOf<C>>(
    query?: ListQuery<RecordOf<C>, Select> & { readonly start?: number; readonly count?: boolean },
    options?: CallOptions,
  ) => Promise<Page<Pick<RecordOf<C>, Select>>>
  /** Every record, page by page: one that nobody writes to meanwhile comes exactly once. */
  readonly all: <const Select extends keyof RecordOf<C> = keyof RecordOf<C>>(
    query?: ListQuery<RecordOf<C>, Select>,
    options?: CallOptions,
  ) => AsyncGenerator<Pick<RecordOf<C>, Select>>
  readonly get: (id: number, options?: CallOptions) => Promise<RecordOf<C>>
  /** The record, and its entity tag for `ifMatch`. */
  readonly getTagged: (
    id: number,
    options?: CallOptions,
  ) => Promise<{ readonly record: RecordOf<C>; readonly tag: string | undefined }>
  readonly create: (fields: Submitted<C, Optional>, options?: CreateOptions) => Promise<RecordOf<C>>
  /** Up to 1000 records, all of them or none. */
  readonly createAll: (
    records: ReadonlyArray<Submitted<C, Optional>>,
    options?: CreateOptions,
  ) => Promise<ReadonlyArray<RecordOf<C>>>
  readonly replace: (id: number, fields: Submitted<C, Optional>, options?: ChangeOptions) => Promise<RecordOf<C>>
  readonly patch: (id: number, patch: Patch<FieldsOf<C>>, options?: ChangeOptions) => Promise<RecordOf<C>>
  /** Deletes and returns the record. */
  readonly remove: (id: number, options?: ChangeOptions) => Promise<RecordOf<C>>
  /**
   * The collection's changes, until the caller stops reading or `signal` is aborted. A connection that breaks or ends is made
   * again, and goes on where it was. To know every record, read them all after the first change, which is the start.
   *
   * @param options.after a position that this feed gave; only what comes from now on when omitted
   * @throws {ApiError} 410 when what came after the position is no longer kept; 401 when the token is refused
   */
  readonly changes: (options?: CallOptions & { readonly after?: string }) => AsyncGenerator<ClientChange<RecordOf<C>>>
}

const TIMEOUT_MS = 30_000

const RECONNECT_MS = 1_000

/** Longest pause before a feed that broke is opened again, milliseconds. */
const RECONNECT_MAX_MS = 30_000

const JSON_TYPE = { "content-type": "application/json" }

/** Everything a request needs but the token. */
interface Call {
  readonly method?: string
  readonly path?: string
  readonly query?: URLSearchParams
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

/** Waits, but not after the signal was given. */
const pause = (milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener("abort", end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal?.addEventListener("abort", end)
    if (signal?.aborted === true) end()
  })

/**
 * Makes a client of one collection.
 *
 * @typeParam C `typeof products`, where `products` is what `defineCollection` gave: only its type is needed. Or the type of the
 * fields itself
 * @typeParam Optional names of the fields with a `default`, which may be left out of what is submitted
 */
export const createClient = <C extends object, Optional extends PropertyKey = never>(
  options: ClientOptions,
): CollectionClient<C, Optional> => {
  type R = RecordOf<C>
  const base = options.url.replace(/\/+$/, "")
  const { timeoutMs = TIMEOUT_MS, reconnectMs = RECONNECT_MS } = options

  const open = async ({ method = "GET", path = "", query, headers, body, signal }: Call): Promise<Response> => {
    const token = typeof options.token === "string" ? options.token : await options.token()
    const search = query === undefined || query.size === 0 ? "" : `?${query}`
    const init: RequestInit = {
      method,
      headers: { ...(body === undefined ? {} : JSON_TYPE), ...headers, authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
      // The token is for this address alone.
      redirect: "error",
    }
    const response = await (options.fetch ?? fetch)(`${base}${path}${search}`, init)
    if (!response.ok) throw await problemOf(response)
    return response
  }

  /** The answer, and the data in its envelope. */
  const ask = async <A>(call: Call): Promise<{ readonly response: Response; readonly data: A }> => {
    const deadline = AbortSignal.timeout(timeoutMs)
    const signal = call.signal === undefined ? deadline : AbortSignal.any([call.signal, deadline])
    const response = await open({ ...call, signal })
    const { data } = (await response.json()) as { readonly data: A }
    return { response, data }
  }
  const dataOf = async <A>(call: Call): Promise<A> => (await ask<A>(call)).data

  const keyed = ({ idempotencyKey: key }: CreateOptions): Readonly<Record<string, string>> =>
    key === undefined ? {} : { "idempotency-key": key }
  const matching = ({ ifMatch }: ChangeOptions): Readonly<Record<string, string>> =>
    ifMatch === undefined ? {} : { "if-match": ifMatch }
  const itemPath = (id: number) => `/${encodeURIComponent(id)}`

  async function* follow(signal: AbortSignal | undefined, from: string | undefined): AsyncGenerator<ClientChange<R>> {
    let after = from
    let started = false
    const isOver = () => signal?.aborted === true
    for (let failures = 0; !isOver(); failures++) {
      try {
        const headers = { accept: "text/event-stream", ...(after === undefined ? {} : { "last-event-id": after }) }
        const { body } = await open({ path: "/changes", headers, signal })
        if (body === null) return
        for await (const { event, id, data } of readServerEvents(body)) {
          failures = 0
          after = id
          if (event !== "") yield { kind: event, position: id, record: JSON.parse(data) } as ClientChange<R>
          else if (!started) yield { kind: "start", position: id }
          started = true
        }
      } catch (failure) {
        if (isOver()) return
        // A refusal is not asked again, but for one that says later.
        if (failure instanceof ApiError && failure.status !== 503) throw failure
      }
      await pause(Math.min(reconnectMs * 2 ** failures, RECONNECT_MAX_MS), signal)
    }
  }

  return {
    list: async ({ start, count = false, limit, ...query } = {}, { signal } = {}) => {
      const parameters = listParameters(query)
      if (start !== undefined) parameters.set("start", String(start))
      if (limit !== undefined) parameters.set("limit", String(limit))
      const headers: Readonly<Record<string, string>> = count ? { prefer: "count=exact" } : {}
      const { response, data } = await ask<Page<R>["records"]>({ query: parameters, headers, signal })
      const total = response.headers.get("x-total-count")
      const more = /rel="next"/.test(response.headers.get("link") ?? "")
      return { records: data, more, ...(total === null ? {} : { total: Number(total) }) }
    },
    all: async function* ({ limit, ...query } = {}, { signal } = {}) {
      const parameters = listParameters(query)
      if (limit !== undefined) parameters.set("limit", String(limit))
      for (let after: string | undefined = ""; after !== undefined; ) {
        parameters.set("after", after)
        const { response, data } = await ask<Page<R>["records"]>({ query: parameters, signal })
        yield* data
        after = nextCursor(response.headers.get("link"))
      }
    },
    get: (id, { signal } = {}) => dataOf({ path: itemPath(id), signal }),
    getTagged: async (id, { signal } = {}) => {
      const { response, data } = await ask<R>({ path: itemPath(id), signal })
      return { record: data, tag: response.headers.get("etag") ?? undefined }
    },
    create: (fields, options = {}) =>
      dataOf({ method: "POST", body: fields, headers: keyed(options), signal: options.signal }),
    createAll: (records, options = {}) =>
      dataOf({ method: "POST", body: records, headers: keyed(options), signal: options.signal }),
    replace: (id, fields, options = {}) =>
      dataOf({ method: "PUT", path: itemPath(id), body: fields, headers: matching(options), signal: options.signal }),
    patch: (id, patch, options = {}) =>
      dataOf({
        method: "PATCH",
        path: itemPath(id),
        body: patch,
        headers: { ...matching(options), "content-type": "application/merge-patch+json" },
        signal: options.signal,
      }),
    remove: (id, options = {}) =>
      dataOf({ method: "DELETE", path: itemPath(id), headers: matching(options), signal: options.signal }),
    changes: ({ after, signal } = {}) => follow(signal, after),
  }
}
