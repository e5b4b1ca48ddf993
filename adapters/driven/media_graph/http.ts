import { Clock, Effect, Layer, Option, Redacted } from "effect"
import { mediaUrlsOf } from "../../../domain/media/container.ts"
import type { GraphAddress } from "../../../domain/media/graph_address.ts"
import { GraphFailure } from "../../../domain/media/graph_failure.ts"
import {
  type CreationCall,
  type GraphAnswer,
  MediaGraphPort,
  type ProbeAnswer,
} from "../../../domain/media/media_graph_port.ts"
import { secretsInUrl } from "../../../domain/media/media_url.ts"
import { makeScrub, type Scrub } from "../../../domain/media/secrets.ts"
import { MASK } from "../../../domain/secret_mask.ts"
import { type ExchangeFailed, send } from "../http_exchange.ts"
import * as wire from "./wire.ts"
import * as answers from "./wire_answers.ts"

export interface HttpGraphOptions {
  readonly address: GraphAddress
  /** Read for every call: a token that was renewed meanwhile is used at once. Its own failure may hold anything and is dropped. */
  readonly accessToken: Effect.Effect<Redacted.Redacted, unknown>
  /** Deadline of one exchange, body included, ms. */
  readonly timeoutMs: number
  readonly targetBytesMax: number
  readonly placement: wire.Placement
}

/** Answers of the graph are small; a longer body is somebody else's. */
const BODY_BYTES_MAX = 1_048_576

const unanswered = (operation: GraphFailure["operation"], failure: ExchangeFailed): GraphFailure => {
  // A redirect is an answer, only not the graph's: following it would show the token to another host.
  const kind = failure.kind === "redirected" || failure.kind === "oversized" ? "Protocol" : "Network"
  return new GraphFailure({ kind, operation, applied: failure.applied, text: failure.kind })
}

const secretsOf = ({ container }: CreationCall): ReadonlyArray<string> => mediaUrlsOf(container).flatMap(secretsInUrl)

const make = (options: HttpGraphOptions) => {
  const { address, placement, targetBytesMax } = options
  let versionTold = false

  const tokenFor = (operation: GraphFailure["operation"]) =>
    Effect.mapError(
      options.accessToken,
      () => new GraphFailure({ kind: "TokenInvalid", operation, applied: "no", text: "no access token is at hand" }),
    )

  /** Says once that another version answered: retired ones are forwarded to the oldest that lives. */
  const tellVersion = (answered: string | null) => {
    if (answered === null || answered === address.apiVersion || versionTold) return Effect.void
    versionTold = true
    return Effect.logWarning("The graph answered with another API version").pipe(
      Effect.annotateLogs({ asked: address.apiVersion, answered: answered.slice(0, 16) }),
    )
  }

  // Names of parameters only: every value may be or hold a secret.
  const log = (request: wire.WireRequest, outcome: Readonly<Record<string, unknown>>, startedAt: number) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.logDebug(`${request.method} ${request.path}`).pipe(
        Effect.annotateLogs({ parameters: request.names.join(","), durationMs: now - startedAt, ...outcome }),
      ),
    )

  const exchange = Effect.fnUntraced(function* <A>(
    request: wire.WireRequest,
    secrets: ReadonlyArray<string>,
    read: (scrub: Scrub) => (body: unknown) => A | undefined,
  ) {
    const startedAt = yield* Clock.currentTimeMillis
    const scrub = makeScrub(secrets)
    const answer = yield* send({
      method: request.method,
      url: `${address.origin}${request.path}`,
      headers: request.headers,
      timeoutMs: options.timeoutMs,
      bodyBytesMax: BODY_BYTES_MAX,
      ...(request.query === "" ? {} : { query: request.query }),
      ...(request.body === undefined ? {} : { body: request.body }),
    }).pipe(
      Effect.tapError((failure) => log(request, { failure: failure.kind }, startedAt)),
      Effect.mapError((failure) => unanswered(request.operation, failure)),
    )
    yield* tellVersion(answer.headers.get("facebook-api-version"))
    const told = {
      status: answer.status,
      text: answer.text,
      header: (name: string) => answer.headers.get(name) ?? undefined,
    }
    return yield* answers.readAnswer(request.operation, told, scrub, read(scrub)).pipe(
      Effect.tap(() => log(request, { status: answer.status }, startedAt)),
      Effect.tapError(({ kind, graphCode, subcode, traceId }) =>
        log(request, { status: answer.status, kind, graphCode, subcode, traceId }, startedAt),
      ),
    )
  })

  const withToken = Effect.fnUntraced(function* <A>(
    line: Parameters<typeof wire.versioned>[0],
    parameters: Parameters<typeof wire.versioned>[1],
    read: (scrub: Scrub) => (body: unknown) => A | undefined,
  ) {
    const token = yield* tokenFor(line.operation)
    const request = wire.versioned(line, parameters, address, token, placement)
    return yield* exchange(request, [Redacted.value(token)], read)
  })

  const isAnswered = ({ status }: GraphFailure): boolean => status !== undefined

  return MediaGraphPort.of({
    createContainer: Effect.fnUntraced(function* (call) {
      const token = yield* tokenFor("create")
      const request = yield* wire.creation(call, address, token, { placement, targetBytesMax })
      return yield* exchange(request, [Redacted.value(token), ...secretsOf(call)], () => answers.readId)
    }),
    readContainer: (containerId) =>
      withToken({ operation: "status", method: "GET", path: [containerId] }, [wire.STATUS_FIELDS], (scrub) =>
        answers.readStatus(containerId, scrub),
      ),
    publishContainer: ({ accountId, containerId }) =>
      withToken(
        { operation: "publish", method: "POST", path: [accountId, "media_publish"] },
        [["creation_id", containerId]],
        () => answers.readId,
      ),
    readPublishingLimit: (accountId) =>
      withToken(
        { operation: "limit", method: "GET", path: [accountId, "content_publishing_limit"] },
        [wire.LIMIT_FIELDS],
        () => answers.readLimit,
      ),
    requestAppToken: Effect.fnUntraced(function* (app) {
      const token = yield* Effect.option(options.accessToken)
      const known = Option.isSome(token) ? [Redacted.value(token.value)] : []
      return yield* exchange(
        wire.appToken(address, app),
        [Redacted.value(app.appSecret), ...known],
        () => answers.readToken,
      )
    }),
    // Its length is the only thing the real token adds to what is shown; without one, a masked one stands in.
    preview: (call) =>
      Effect.flatMap(
        Effect.orElseSucceed(options.accessToken, () => Redacted.make(MASK)),
        (token) => wire.preview(call, address, token, { placement, targetBytesMax }),
      ),
    probe: ({ method, path, parameters }) => {
      const line = { operation: "probe", method, path: path === "" ? [] : path.split("/") } as const
      return withToken(line, parameters, () => (body) => ({ id: answers.readId(body) })).pipe(
        Effect.map(
          ({ value }: GraphAnswer<{ readonly id: string | undefined }>): ProbeAnswer => ({
            status: 200,
            kind: "Accepted",
            ...(value.id === undefined ? {} : { id: value.id }),
          }),
        ),
        Effect.catchIf(isAnswered, ({ status = 0, kind, graphCode, subcode, text }) =>
          Effect.succeed<ProbeAnswer>({
            status,
            kind,
            ...(graphCode === undefined ? {} : { graphCode }),
            ...(subcode === undefined ? {} : { subcode }),
            ...(text === undefined ? {} : { text }),
          }),
        ),
      )
    },
  })
}

/** The graph over HTTP. */
export const layer = (options: HttpGraphOptions): Layer.Layer<MediaGraphPort> =>
  Layer.succeed(MediaGraphPort, make(options))
