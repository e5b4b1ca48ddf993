import { Clock, Effect, Layer, Redacted } from "effect"
import type { Parameter } from "../../../domain/media/encoding.ts"
import { GraphFailure } from "../../../domain/media/graph_failure.ts"
import { MediaGraphPort } from "../../../domain/media/media_graph_port.ts"
import { secretsInUrl } from "../../../domain/media/media_url.ts"
import { parametersOf } from "../../../domain/media/parameters.ts"
import { makeScrub, type Scrub } from "../../../domain/media/secrets.ts"
import { MASK } from "../../../domain/secret_mask.ts"
import type { GraphModel, ModelCall } from "./graph_model.ts"
import * as wire from "./wire.ts"
import * as answers from "./wire_answers.ts"

const ADDRESS = { origin: "memory://graph", prefix: "", apiVersion: "v1.0" }
const PLACEMENT: wire.Placement = { parameters: "query", token: "query" }

const byName = (parameters: ReadonlyArray<Parameter>): Readonly<Record<string, string>> =>
  Object.fromEntries(parameters)

const make = (model: GraphModel, targetBytesMax: number) => {
  const ask = Effect.fnUntraced(function* <A>(
    call: ModelCall,
    read: (scrub: Scrub) => (body: unknown) => A | undefined,
  ) {
    const answer = model.answer(call, yield* Clock.currentTimeMillis)
    if ("lost" in answer)
      return yield* new GraphFailure({
        kind: "Network",
        operation: call.operation,
        applied: "unknown",
        text: "network",
      })
    const secrets = ["image_url", "video_url", "cover_url"].flatMap((name) => secretsInUrl(call.parameters[name] ?? ""))
    const scrub = makeScrub([...secrets, call.parameters["client_secret"] ?? ""])
    const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body)
    const header = (name: string) => answer.headers?.[name]
    return yield* answers.readAnswer(call.operation, { status: answer.status, text, header }, scrub, read(scrub))
  })

  const preview: MediaGraphPort["Service"]["preview"] = (call) =>
    wire.preview(call, ADDRESS, Redacted.make(MASK), { placement: PLACEMENT, targetBytesMax })

  return MediaGraphPort.of({
    createContainer: Effect.fnUntraced(function* (call) {
      yield* preview(call)
      const parameters = byName(parametersOf(call.container))
      return yield* ask({ operation: "create", subject: call.accountId, parameters }, () => answers.readId)
    }),
    readContainer: (containerId) =>
      ask({ operation: "status", subject: containerId, parameters: byName([wire.STATUS_FIELDS]) }, (scrub) =>
        answers.readStatus(containerId, scrub),
      ),
    publishContainer: ({ accountId, containerId }) =>
      ask({ operation: "publish", subject: accountId, parameters: { creation_id: containerId } }, () => answers.readId),
    readPublishingLimit: (accountId) =>
      ask({ operation: "limit", subject: accountId, parameters: byName([wire.LIMIT_FIELDS]) }, () => answers.readLimit),
    requestAppToken: ({ appId, appSecret }) =>
      ask(
        {
          operation: "app-token",
          subject: "",
          parameters: { client_id: appId, client_secret: Redacted.value(appSecret) },
        },
        () => answers.readToken,
      ),
    preview,
    probe: ({ path, parameters }) =>
      ask({ operation: "probe", subject: path, parameters: byName(parameters) }, () => answers.readId).pipe(
        Effect.map(({ value }) => ({ status: 200, kind: "Accepted", id: value }) as const),
        Effect.catchIf(
          ({ status }) => status !== undefined,
          ({ status = 0, kind }) => Effect.succeed({ status, kind }),
        ),
      ),
  })
}

/** The graph in memory, on the clock of its callers. */
export const layer = (model: GraphModel, targetBytesMax = 15_000): Layer.Layer<MediaGraphPort> =>
  Layer.succeed(MediaGraphPort, make(model, targetBytesMax))
