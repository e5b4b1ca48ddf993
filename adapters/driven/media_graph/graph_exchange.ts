import { Clock, Effect, Redacted } from "effect"
import type { Parameter } from "../../../domain/media/encoding.ts"
import { GraphFailure, type GraphOperation } from "../../../domain/media/graph_failure.ts"
import type { GraphAnswer } from "../../../domain/media/media_graph_port.ts"
import { makeScrub, type Scrub } from "../../../domain/media/secrets.ts"
import { type ExchangeFailed, send } from "../http_exchange.ts"
import { readAnswer } from "./graph_answers.ts"
import { type GraphRequest, graphRequest, type RequestLine, type Route } from "./graph_requests.ts"

/** How the graph is reached over HTTP. */
export interface GraphConnection extends Route {
  /**
   * Read for every call, so that a token that was renewed meanwhile is used at once. Its own failure is dropped: it may
   * hold anything.
   */
  readonly accessToken: Effect.Effect<Redacted.Redacted, unknown>
  /** Deadline of one exchange, body included, ms. */
  readonly timeoutMs: number
  /** Longest request target of a creation, bytes. */
  readonly targetBytesMax: number
}

/** Reads the value out of an answer's parsed body; `undefined` when the answer lacks it. */
export type Reader<A> = (body: unknown, scrub: Scrub) => A | undefined

/** One exchange after another with one graph. */
export interface GraphExchange {
  /** @fails {GraphFailure} of kind TokenInvalid when there is no token; nothing was sent */
  readonly tokenFor: (operation: GraphOperation) => Effect.Effect<Redacted.Redacted, GraphFailure>
  /**
   * Sends a request and reads its answer.
   *
   * @param secrets removed from every text of the answer
   */
  readonly exchange: <A>(
    request: GraphRequest,
    secrets: ReadonlyArray<string>,
    read: Reader<A>,
  ) => Effect.Effect<GraphAnswer<A>, GraphFailure>
  /** Sends a request whose only secret is the token. */
  readonly call: <A>(
    line: RequestLine,
    parameters: ReadonlyArray<Parameter>,
    read: Reader<A>,
  ) => Effect.Effect<GraphAnswer<A>, GraphFailure>
}

/** Longest answer that is read, bytes. Answers of the graph are a few hundred. */
const BODY_BYTES_MAX = 1_048_576

const unanswered = (operation: GraphOperation, failure: ExchangeFailed): GraphFailure => {
  // A redirect is an answer, though not one the graph documents. Following it would show the token to another host.
  const kind = failure.kind === "redirected" || failure.kind === "oversized" ? "Protocol" : "Network"
  return new GraphFailure({ kind, operation, applied: failure.applied, text: failure.kind })
}

/** The log line of an exchange. It has the names of the parameters only: every value may be or hold a secret. */
const log = (request: GraphRequest, outcome: Readonly<Record<string, unknown>>, startedAt: number) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.logDebug(`${request.method} ${request.path}`).pipe(
      Effect.annotateLogs({ parameters: request.names.join(","), durationMs: now - startedAt, ...outcome }),
    ),
  )

/** Makes the exchanges over one connection. */
export const makeGraphExchange = (connection: GraphConnection): GraphExchange => {
  const { address } = connection
  let versionTold = false

  /** Logs once that another version answered: the platform forwards retired ones to the oldest that is still served. */
  const tellVersion = (answered: string | null) => {
    if (answered === null || answered === address.apiVersion || versionTold) return Effect.void
    versionTold = true
    return Effect.logWarning("The graph answered with another API version").pipe(
      Effect.annotateLogs({ asked: address.apiVersion, answered: answered.slice(0, 16) }),
    )
  }

  const tokenFor: GraphExchange["tokenFor"] = (operation) =>
    Effect.mapError(
      connection.accessToken,
      () => new GraphFailure({ kind: "TokenInvalid", operation, applied: "no", text: "no access token is at hand" }),
    )

  const exchange: GraphExchange["exchange"] = Effect.fnUntraced(function* (request, secrets, read) {
    const startedAt = yield* Clock.currentTimeMillis
    const scrub = makeScrub(secrets)
    const answer = yield* send({
      method: request.method,
      url: `${address.origin}${request.path}`,
      headers: request.headers,
      timeoutMs: connection.timeoutMs,
      bodyBytesMax: BODY_BYTES_MAX,
      ...(request.query === "" ? {} : { query: request.query }),
      ...(request.body === undefined ? {} : { body: request.body }),
    }).pipe(
      Effect.tapError((failure) => log(request, { failure: failure.kind }, startedAt)),
      Effect.mapError((failure) => unanswered(request.operation, failure)),
    )
    yield* tellVersion(answer.headers.get("facebook-api-version"))
    return yield* readAnswer(request.operation, answer, scrub, read).pipe(
      Effect.tap(() => log(request, { status: answer.status }, startedAt)),
      Effect.tapError(({ kind, graphCode, subcode, traceId }) =>
        log(request, { status: answer.status, kind, graphCode, subcode, traceId }, startedAt),
      ),
    )
  })

  const call: GraphExchange["call"] = (line, parameters, read) =>
    Effect.flatMap(tokenFor(line.operation), (token) =>
      exchange(graphRequest(line, parameters, token, connection), [Redacted.value(token)], read),
    )

  return { tokenFor, exchange, call }
}
