import { Effect, Layer, Redacted, Stream } from "effect"
import type { Issue } from "../../../domain/issue.ts"
import { isObject } from "../../../domain/json_object.ts"
import {
  type ImportedBatch,
  RecordsRefused,
  RecordsUnreachable,
  type RemoteRecord,
  RemoteRecords,
} from "../../../domain/records/remote_records.ts"
import { type ExchangeFailed, type ExchangeRequest, send, sendStreaming } from "../http_exchange.ts"

/** Longest time an answer may take, milliseconds: what the service itself allows a request. */
const ANSWER_MS = 90_000

/** Longest silence of an export, after which it is taken for broken. */
const SILENCE = "60 seconds"

/** Where the service is and who asks. */
export interface RemoteOptions {
  /** Address of the service, without a path. */
  readonly url: string
  readonly token: Redacted.Redacted<string> | undefined
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isIssue = (value: unknown): value is Issue =>
  isObject(value) && typeof value["pointer"] === "string" && typeof value["message"] === "string"

/** A problem body (RFC 9457) as an error; whatever else answered is named by its status. */
const refused = (status: number, text: string): RecordsRefused => {
  const body = parsed(text)
  const problem = isObject(body) ? body : {}
  const { code, detail, errors } = problem
  return new RecordsRefused({
    status,
    code: typeof code === "string" ? code : "UNEXPECTED_ANSWER",
    detail: typeof detail === "string" ? detail : "The service refused without saying why",
    issues: Array.isArray(errors) ? errors.filter(isIssue) : [],
  })
}

const REASONS: Readonly<Record<ExchangeFailed["kind"], string>> = {
  network: "no connection, or it broke",
  timeout: "it took too long",
  redirected: "it sent us elsewhere",
  oversized: "the answer is too large",
}

const unreachable = ({ kind, detail }: ExchangeFailed) =>
  new RecordsUnreachable({ reason: detail === "tls" ? "its certificate is not trusted" : REASONS[kind] })

/** Asks the HTTP API of a running service. */
export const layer = ({ url, token }: RemoteOptions): Layer.Layer<RemoteRecords> =>
  Layer.sync(RemoteRecords, () => {
    const base = url.replace(/\/+$/, "")
    const request = (
      method: ExchangeRequest["method"],
      path: string,
      more: Partial<ExchangeRequest> & { readonly headers?: Readonly<Record<string, string>> } = {},
    ): ExchangeRequest => ({
      ...more,
      method,
      url: `${base}/api/${path}`,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${Redacted.value(token)}` }),
        ...more.headers,
      },
      timeoutMs: ANSWER_MS,
    })
    const answered = Effect.fnUntraced(function* (exchange: ExchangeRequest) {
      const { status, headers, text } = yield* Effect.mapError(send(exchange), unreachable)
      if (status < 200 || status > 299) return yield* refused(status, text)
      const body = parsed(text)
      if (!isObject(body) || body["response"] !== "OK") return yield* refused(status, "")
      return { data: body["data"], headers }
    })
    const ask = (exchange: ExchangeRequest) => Effect.map(answered(exchange), ({ data }) => data)
    const keyed = (key: string | undefined): Readonly<Record<string, string>> =>
      key === undefined ? {} : { "idempotency-key": `"${key}"` }
    const place = (collection: string, ...rest: ReadonlyArray<string>) =>
      [collection, ...rest].map(encodeURIComponent).join("/")

    return RemoteRecords.of({
      list: (collection, { start, limit }) => {
        const query = new URLSearchParams()
        if (start !== undefined) query.set("start", String(start))
        if (limit !== undefined) query.set("limit", String(limit))
        const exchange = request("GET", place(collection), query.size === 0 ? {} : { query: String(query) })
        return Effect.map(ask(exchange), (data) => data as ReadonlyArray<RemoteRecord>)
      },
      count: (collection) =>
        Effect.map(
          answered(request("GET", place(collection), { query: "limit=0", headers: { prefer: "count=exact" } })),
          ({ headers }) => Number(headers.get("x-total-count")),
        ),
      get: (collection, id) => Effect.map(ask(request("GET", place(collection, id))), (data) => data as RemoteRecord),
      create: (collection, body, key) =>
        ask(
          request("POST", place(collection), { body, headers: { "content-type": "application/json", ...keyed(key) } }),
        ),
      remove: (collection, id) =>
        Effect.map(ask(request("DELETE", place(collection, id))), (data) => data as RemoteRecord),
      importBatch: (collection, body, key) =>
        Effect.map(
          ask(
            request("POST", place(collection, "import"), {
              body,
              headers: { "content-type": "application/x-ndjson", ...keyed(key) },
            }),
          ),
          (data) => data as ImportedBatch,
        ),
      export: (collection, after) =>
        Stream.unwrap(
          Effect.gen(function* () {
            const exchange = request("GET", place(collection, "export"), { query: `after=${after}` })
            const { status, chunks } = yield* Effect.mapError(sendStreaming(exchange), unreachable)
            const texts = Stream.mapError(chunks, unreachable).pipe(
              Stream.timeoutOrElse({
                duration: SILENCE,
                orElse: () => Stream.fail(new RecordsUnreachable({ reason: "it fell silent" })),
              }),
              Stream.decodeText,
            )
            if (status === 200) return wholeLines(texts)
            return Stream.unwrap(Effect.map(Stream.mkString(texts), (text) => Stream.fail(refused(status, text))))
          }),
        ),
    })
  })

/** Lines that came to their end: the beginning of one that a broken connection cut off is dropped. */
const wholeLines = <E>(texts: Stream.Stream<string, E>): Stream.Stream<string, E> =>
  Stream.suspend(() => {
    let rest = ""
    return Stream.flatMap(texts, (text) => {
      const lines = (rest + text).split("\n")
      rest = lines.pop() ?? ""
      return Stream.fromIterable(lines)
    })
  })
