import { deepEqual, equal, ok } from "node:assert/strict"
import { describe, test } from "node:test"
import { Data, Effect, Exit, Tracer } from "effect"
import { discreetTracer } from "../../../bootstrap/discreet_tracer.ts"

const HIDDEN = "secret-looking-value"

class Away extends Data.TaggedError("Away")<{ readonly reason: string }> {
  override get message(): string {
    return `away: ${this.reason}`
  }
}

/** The span of a program that ends like this, as an exporter gets it. */
const spanOf = async (program: Effect.Effect<unknown, unknown>): Promise<Tracer.Span> => {
  const spans: Array<Tracer.Span> = []
  const keeping = Tracer.make({
    span: (options) => {
      const span = Tracer.nativeTracer.span(options)
      spans.push(span)
      return span
    },
  })
  await Effect.runPromiseExit(program.pipe(Effect.withSpan("work"), Effect.withTracer(discreetTracer(keeping))))
  const [span] = spans
  if (span === undefined) throw new Error("no span was made")
  return span
}

describe("a discreet tracer", () => {
  for (const [what, program, type] of [
    ["an error of ours", Effect.fail(new Away({ reason: HIDDEN })), "Away"],
    ["any other error", Effect.fail(new Error(HIDDEN)), "Error"],
    ["a value", Effect.fail(HIDDEN), "Error"],
    ["a defect", Effect.die(new Error(HIDDEN)), "Defect"],
  ] as const)
    test(`tells the kind of ${what} alone`, async () => {
      const { status, attributes } = await spanOf(program)
      equal(attributes.get("error.type"), type)
      ok(status._tag === "Ended" && Exit.isFailure(status.exit))
      const said = status.exit.cause.reasons.map((reason) => ("error" in reason ? reason.error : undefined))
      deepEqual(
        said.map((error) => error instanceof Error && [error.name, error.message, error.stack]),
        [[type, type, type]],
      )
    })

  test("leaves success and interruption as they are", async () => {
    for (const [program, interrupted] of [
      [Effect.succeed(1), false],
      [Effect.interrupt, true],
    ] as const) {
      const { status, attributes } = await spanOf(program)
      ok(status._tag === "Ended")
      equal(Exit.hasInterrupts(status.exit), interrupted)
      equal(attributes.has("error.type"), false)
    }
  })
})
