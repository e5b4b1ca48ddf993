import { Effect, Result } from "effect"
import type { Container } from "../../domain/media/container.ts"
import { checkIds } from "../../domain/media/graph_address.ts"
import type { GraphFailure } from "../../domain/media/graph_failure.ts"
import { GraphProbe, type ProbeQuestion } from "../../domain/media/graph_probe.ts"
import { GraphPacing } from "./graph_pacing.ts"

/** What the platform's documents leave open, and what the graph answered. */
export interface ProbeResult {
  /** Begins with its number in the list of open questions in domain/media/README.md. */
  readonly question: string
  readonly outcome: "accepted" | "refused" | "not asked" | "no answer"
  readonly answer: string
}

/** Public files of the caller; questions that need a missing one are not asked. */
export interface ProbeFiles {
  readonly imageUrl: string | undefined
  readonly videoUrl: string | undefined
}

const notAsked = (question: string, answer: string): ProbeResult => ({ question, outcome: "not asked", answer })

type Answer = Result.Result<string | undefined, GraphFailure>

const seen = (question: string, answer: Answer): ProbeResult => {
  if (Result.isSuccess(answer)) {
    const id = answer.success === undefined ? "" : ` id ${answer.success}`
    return { question, outcome: "accepted", answer: `200 Accepted${id}` }
  }
  const { status, kind, graphCode, subcode, text, message } = answer.failure
  if (status === undefined) return { question, outcome: "no answer", answer: message }
  const code = graphCode === undefined ? "" : ` code ${graphCode}${subcode === undefined ? "" : `/${subcode}`}`
  return { question, outcome: "refused", answer: `${status} ${kind}${code}${text === undefined ? "" : `: ${text}`}` }
}

/** Lengths of the padded read, bytes; the limit of the host lies between two of them. */
const PADDINGS = [4_000, 8_000, 16_000, 32_000]

const CAPTIONS = [
  ["2,200 emoji (4,400 UTF-16 units)", "😀".repeat(2200)],
  ["1,100 emoji and a mark (2,201 UTF-16 units)", `${"😀".repeat(1100)}.`],
] as const

/** Not asked: each would publish, or provoke the rate limit, on the caller's account. */
const HARMFUL: ReadonlyArray<ProbeResult> = [
  notAsked("2 a second publish of a published container", "would publish a post"),
  notAsked("8 how late PUBLISHED shows after a lost answer", "would publish a post"),
  notAsked("9 80002 with status 400 or 403", "would exhaust the rate limit"),
]

const numberOf = ({ question }: ProbeResult): number => Number.parseInt(question, 10)

/**
 * Asks the graph what nobody has written down, with harmless calls only: containers nobody sees, and reads.
 *
 * @param files public files to make containers of
 * @fails {InvalidMedia} when the account id cannot be one; whatever the graph answers is a result
 */
export const probeGraph = Effect.fn("probeGraph")(function* (accountId: string, { imageUrl, videoUrl }: ProbeFiles) {
  yield* checkIds({ accountId })
  const probe = yield* GraphProbe
  const pacing = yield* GraphPacing
  const ask = (question: ProbeQuestion) =>
    Effect.result(Effect.andThen(pacing.admit(accountId, "probe"), probe.ask(accountId, question)))
  const create = (container: Container) => ask({ ask: "create", container })
  const results: Array<ProbeResult> = []

  const items: Array<string> = []
  if (imageUrl !== undefined)
    for (let count = 0; count < 11; count++) {
      const made = yield* create({ kind: "image", imageUrl, isCarouselItem: true })
      if (Result.isFailure(made) || made.success === undefined) break
      items.push(made.success)
    }
  const carousel = (children: ReadonlyArray<string>) => create({ kind: "carousel", children: [...children] })
  const reuse = "1 children used by a second parent"
  const many = "4 eleven children"
  const batch = "7 the state of two containers in one call"
  if (items.length < 2) results.push(...[reuse, many, batch].map((question) => notAsked(question, "needs --image-url")))
  else {
    const pair = items.slice(0, 2)
    yield* carousel(pair)
    results.push(seen(reuse, yield* carousel(pair)))
    results.push(items.length < 11 ? notAsked(many, "not all items were created") : seen(many, yield* carousel(items)))
    results.push(seen(batch, yield* ask({ ask: "states", containerIds: pair })))
  }

  const standalone = "3 a standalone VIDEO at creation"
  results.push(
    videoUrl === undefined
      ? notAsked(standalone, "needs --video-url")
      : seen(standalone, yield* create({ kind: "video", videoUrl })),
  )

  for (const [name, caption] of CAPTIONS) {
    const question = `5 a caption of ${name}`
    results.push(
      imageUrl === undefined
        ? notAsked(question, "needs --image-url")
        : seen(question, yield* create({ kind: "image", imageUrl, caption })),
    )
  }

  for (const paddingBytes of PADDINGS)
    results.push(seen(`6 a request target of ${paddingBytes} bytes`, yield* ask({ ask: "long-read", paddingBytes })))

  return [...results, ...HARMFUL].sort((left, right) => numberOf(left) - numberOf(right))
})
