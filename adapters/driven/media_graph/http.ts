import { Effect, Layer, Option, Redacted } from "effect"
import { mediaUrlsOf } from "../../../domain/media/container.ts"
import { MediaGraphPort } from "../../../domain/media/media_graph_port.ts"
import { secretsInUrl } from "../../../domain/media/media_url.ts"
import { parametersOf } from "../../../domain/media/parameters.ts"
import { readId, readLimit, readStatus, readToken } from "./graph_answers.ts"
import { type GraphConnection, makeGraphExchange } from "./graph_exchange.ts"
import {
  appTokenRequest,
  creationLine,
  graphRequest,
  publishLine,
  publishParameters,
  withinTarget,
} from "./graph_requests.ts"

const make = (connection: GraphConnection) => {
  const { tokenFor, exchange, call } = makeGraphExchange(connection)
  return MediaGraphPort.of({
    createContainer: Effect.fnUntraced(function* ({ accountId, container }) {
      const token = yield* tokenFor("create")
      const line = creationLine("create", accountId)
      const request = graphRequest(line, parametersOf(container), token, connection)
      const secrets = [Redacted.value(token), ...mediaUrlsOf(container).flatMap(secretsInUrl)]
      return yield* exchange(yield* withinTarget(request, connection.targetBytesMax), secrets, readId)
    }),
    readContainer: (containerId) =>
      call(
        { operation: "status", method: "GET", path: [containerId] },
        [["fields", "status_code,status"]],
        readStatus(containerId),
      ),
    publishContainer: ({ accountId, containerId }) =>
      call(publishLine(accountId), publishParameters(containerId), readId),
    readPublishingLimit: (accountId) =>
      call(
        { operation: "limit", method: "GET", path: [accountId, "content_publishing_limit"] },
        [["fields", "quota_usage,config"]],
        readLimit,
      ),
    requestAppToken: Effect.fnUntraced(function* (app) {
      const token = yield* Effect.option(connection.accessToken)
      const known = Option.isSome(token) ? [Redacted.value(token.value)] : []
      return yield* exchange(
        appTokenRequest(connection.address, app),
        [Redacted.value(app.appSecret), ...known],
        readToken,
      )
    }),
  })
}

/** The graph over HTTP. */
export const layer = (connection: GraphConnection): Layer.Layer<MediaGraphPort> =>
  Layer.sync(MediaGraphPort, () => make(connection))
