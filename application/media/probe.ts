import { Effect, Result } from "effect"
import type { Container } from "../../domain/media/container.ts"
import { checkIds } from "../../domain/media/graph_address.ts"
import type { GraphFailure } from "../../domain/media/graph_failure.ts"
import { MediaGraphPort, type ProbeAnswer, type ProbeCall } from "../../domain/media/media_graph_port.ts"
import { parametersOf } from "../../domain/media/parameters.ts"
import { GraphPacing } from "./graph_pacing.ts"

/** What the platform's documents leave open, and what the graph answered. */
export interface ProbeResult {
  readonly question: string
  readonly outcome: "accepted" | "refused" | "not asked" | "no answer"
  readonly answer: string
}

/** Public files of the caller; questions that need a missing one are not asked. */
export interface ProbeFiles {
  readonly imageUrl: string | undefined
  readonly videoUrl: string | undefined
}

const describe = ({ status, kind, graphCode, subcode, id, text }: ProbeAnswer): string => {
  const code = graphCode === undefined ? "" : ` code ${graphCode}${subcode === undefined ? "" : `/${subcode}`}`
  const more = id === undefined ? (text === undefined ? "" : `: ${text}`) : ` id ${id}`
  return `${status} ${kind}${code}${more}`
}

const notAsked = (question: string, answer: string): ProbeResult => ({ question, outcome: "not asked", answer })

const seen = (question: string, result: Result.Result<ProbeAnswer, GraphFailure>): ProbeResult =>
  Result.isFailure(result)
    ? { question, outcome: "no answer", answer: result.failure.message }
    : {
        question,
        outcome: result.success.kind === "Accepted" ? "accepted" : "refused",
        answer: describe(result.success),
      }

/** Bytes a padded question's target is made long by; between them lies the limit of the host. */
const PADDINGS = [4_000, 8_000, 16_000, 32_000]

/** Not asked: each would publish, or provoke the rate limit, on the caller's account. */
const HARMFUL: ReadonlyArray<ProbeResult> = [
  notAsked("2 a second publish of a published container", "would publish a post"),
  notAsked("8 how late PUBLISHED shows after a lost answer", "would publish a post"),
  notAsked("9 80002 with status 400 or 403", "would exhaust the rate limit"),
]

/**
 * Asks the graph what nobody has written down, with harmless calls only: containers nobody sees, and reads.
 *
 * @param files public files to make containers of
 */
export const probeGraph = Effect.fn("probeGraph")(function* (accountId: string, files: ProbeFiles) {
  yield* checkIds({ accountId })
  const graph = yield* MediaGraphPort
  const pacing = yield* GraphPacing
  const ask = (call: ProbeCall) => Effect.result(Effect.andThen(pacing.admit(accountId, "probe"), graph.probe(call)))
  const create = (container: Container) =>
    ask({ method: "POST", path: `${accountId}/media`, parameters: parametersOf(container) })
  const idOf = (result: Result.Result<ProbeAnswer, GraphFailure>): string | undefined =>
    Result.isSuccess(result) ? result.success.id : undefined
  const results: Array<ProbeResult> = []

  const { imageUrl, videoUrl } = files
  const items: Array<string> = []
  if (imageUrl !== undefined)
    for (let count = 0; count < 11; count++) {
      const id = idOf(yield* create({ kind: "image", imageUrl, isCarouselItem: true }))
      if (id === undefined) break
      items.push(id)
    }
  const carousel = (children: ReadonlyArray<string>) => create({ kind: "carousel", children: [...children] })
  const reuse = "1 children used by a second parent"
  const many = "4 eleven children"
  if (items.length < 2) results.push(notAsked(reuse, "needs --image-url"), notAsked(many, "needs --image-url"))
  else {
    yield* carousel(items.slice(0, 2))
    results.push(seen(reuse, yield* carousel(items.slice(0, 2))))
    results.push(items.length < 11 ? notAsked(many, "not all items were created") : seen(many, yield* carousel(items)))
  }

  const standalone = "3 a standalone VIDEO at creation"
  results.push(
    videoUrl === undefined
      ? notAsked(standalone, "needs --video-url")
      : seen(standalone, yield* create({ kind: "video", videoUrl })),
  )

  for (const [name, caption] of [
    ["2,200 emoji (4,400 UTF-16 units)", "😀".repeat(2200)],
    ["1,100 emoji and a mark (2,201 UTF-16 units)", `${"😀".repeat(1100)}.`],
  ] as const) {
    const question = `5 a caption of ${name}`
    results.push(
      imageUrl === undefined
        ? notAsked(question, "needs --image-url")
        : seen(question, yield* create({ kind: "image", imageUrl, caption })),
    )
  }

  for (const bytes of PADDINGS) {
    const parameters = [["fields", "id"] as const, ["padding", "x".repeat(bytes)] as const]
    results.push(
      seen(`6 a request target of ${bytes} bytes`, yield* ask({ method: "GET", path: accountId, parameters })),
    )
  }

  const batch = "7 the state of two containers in one call"
  const [first, second] = items
  results.push(
    first === undefined || second === undefined
      ? notAsked(batch, "needs --image-url")
      : seen(
          batch,
          yield* ask({
            method: "GET",
            path: "",
            parameters: [
              ["ids", `${first},${second}`],
              ["fields", "status_code"],
            ],
          }),
        ),
  )
  return [...results, ...HARMFUL].sort(
    (left, right) => Number.parseInt(left.question, 10) - Number.parseInt(right.question, 10),
  )
})
