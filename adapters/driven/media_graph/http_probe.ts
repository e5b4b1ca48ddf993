import { Effect, Layer } from "effect"
import type { Parameter } from "../../../domain/media/encoding.ts"
import { GraphProbe, type ProbeAnswer, type ProbeQuestion } from "../../../domain/media/graph_probe.ts"
import { parametersOf } from "../../../domain/media/parameters.ts"
import { readId } from "./graph_answers.ts"
import { type GraphConnection, makeGraphExchange } from "./graph_exchange.ts"
import { creationLine, type RequestLine } from "./graph_requests.ts"

const requestOf = (
  accountId: string,
  question: ProbeQuestion,
): readonly [line: RequestLine, parameters: ReadonlyArray<Parameter>] => {
  const read = (path: ReadonlyArray<string>): RequestLine => ({ operation: "probe", method: "GET", path })
  switch (question.ask) {
    case "create":
      return [creationLine("probe", accountId), parametersOf(question.container)]
    case "long-read":
      return [
        read([accountId]),
        [
          ["fields", "id"],
          ["padding", "x".repeat(question.paddingBytes)],
        ],
      ]
    case "states":
      return [
        read([]),
        [
          ["ids", question.containerIds.join(",")],
          ["fields", "status_code"],
        ],
      ]
  }
}

/** Questions to the graph over HTTP. */
export const layer = (connection: GraphConnection): Layer.Layer<GraphProbe> =>
  Layer.sync(GraphProbe, () => {
    const { call } = makeGraphExchange(connection)
    return GraphProbe.of({
      ask: (accountId, question) =>
        call(...requestOf(accountId, question), (body) => ({ id: readId(body) })).pipe(
          Effect.map(
            ({ value: { id } }): ProbeAnswer => ({
              status: 200,
              kind: "Accepted",
              ...(id === undefined ? {} : { id }),
            }),
          ),
          Effect.catchIf(
            ({ status }) => status !== undefined,
            ({ status = 0, kind, graphCode, subcode, text }) =>
              Effect.succeed<ProbeAnswer>({
                status,
                kind,
                ...(graphCode === undefined ? {} : { graphCode }),
                ...(subcode === undefined ? {} : { subcode }),
                ...(text === undefined ? {} : { text }),
              }),
          ),
        ),
    })
  })
