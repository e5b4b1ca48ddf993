// A MediaGraphPort over the scripted graph without a socket: virtual time cannot wait for one. Its answers are read as
// the HTTP adapter reads them, so that every failure a test scripts is classed by the product's own code.
import { Clock, Effect, Layer, Redacted } from "effect"
import {
  readAnswer,
  readId,
  readLimit,
  readStatus,
  readToken,
} from "../../adapters/driven/media_graph/graph_answers.ts"
import type { Reader } from "../../adapters/driven/media_graph/graph_exchange.ts"
import { GraphFailure } from "../../domain/media/graph_failure.ts"
import { MediaGraphPort } from "../../domain/media/media_graph_port.ts"
import { parametersOf } from "../../domain/media/parameters.ts"
import { makeScrub } from "../../domain/media/secrets.ts"
import type { GraphModel, ModelCall } from "./graph_model.ts"

type Operation = Exclude<ModelCall["operation"], "unknown">

const make = (model: GraphModel) => {
  const ask = Effect.fnUntraced(function* <A>(
    operation: Operation,
    subject: string,
    parameters: ModelCall["parameters"],
    read: Reader<A>,
  ) {
    const answer = model.answer({ operation, subject, parameters }, yield* Clock.currentTimeMillis)
    if ("lost" in answer)
      return yield* new GraphFailure({ kind: "Network", operation, applied: "unknown", text: "network" })
    const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body)
    const received = { status: answer.status, text, headers: new Headers({ ...answer.headers }) }
    return yield* readAnswer(operation, received, makeScrub([]), read)
  })
  return MediaGraphPort.of({
    createContainer: ({ accountId, container }) =>
      ask("create", accountId, Object.fromEntries(parametersOf(container)), readId),
    readContainer: (containerId) => ask("status", containerId, {}, readStatus(containerId)),
    publishContainer: ({ accountId, containerId }) => ask("publish", accountId, { creation_id: containerId }, readId),
    readPublishingLimit: (accountId) => ask("limit", accountId, {}, readLimit),
    requestAppToken: ({ appId, appSecret }) =>
      ask("app-token", "", { client_id: appId, client_secret: Redacted.value(appSecret) }, readToken),
  })
}

/** The scripted graph as the use cases' port, on the clock of its callers. */
export const layer = (model: GraphModel): Layer.Layer<MediaGraphPort> => Layer.succeed(MediaGraphPort, make(model))
