import { Effect, Layer } from "effect"
import { GraphProbe } from "../../../domain/media/graph_probe.ts"
import { parametersOf } from "../../../domain/media/parameters.ts"
import { readId } from "./graph_answers.ts"
import { type GraphConnection, makeGraphExchange } from "./graph_exchange.ts"
import { creationLine, type RequestLine } from "./graph_requests.ts"

const read = (...path: ReadonlyArray<string>): RequestLine => ({ operation: "probe", method: "GET", path })

/** Questions to the graph over HTTP. */
export const layer = (connection: GraphConnection): Layer.Layer<GraphProbe> =>
  Layer.sync(GraphProbe, () => {
    const { call } = makeGraphExchange(connection)
    const ask = (line: RequestLine, parameters: Parameters<typeof call>[1]) =>
      Effect.map(
        call(line, parameters, (body) => ({ id: readId(body) })),
        ({ value }) => value.id,
      )
    return GraphProbe.of({
      ask: (accountId, question) => {
        switch (question.ask) {
          case "create":
            return ask(creationLine("probe", accountId), parametersOf(question.container))
          case "long-read": {
            const padding = "x".repeat(question.paddingBytes)
            return ask(read(accountId), Object.entries({ fields: "id", padding }))
          }
          case "states":
            return ask(read(), Object.entries({ ids: question.containerIds.join(","), fields: "status_code" }))
        }
      },
    })
  })
