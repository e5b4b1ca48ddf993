import { deepEqual, equal, ok } from "node:assert/strict"
import { describe, test } from "node:test"
import { Data, Deferred, Effect, Exit, Stream, Tracer } from "effect"
import { observed, timing, tracing } from "../../../adapters/driven/observed_port.ts"

class Absent extends Data.TaggedError("Absent") {}
class Away extends Data.TaggedError("Away") {}

const port = {
  name: "a port",
  find: (id: number): Effect.Effect<number, Absent | Away> =>
    id === 0 ? Effect.fail(new Absent()) : id < 0 ? Effect.fail(new Away()) : Effect.succeed(id),
  slow: (gate: Deferred.Deferred<number>) => Deferred.await(gate),
  ready: Effect.succeed("ready"),
  changes: () => Stream.make(1, 2),
  print: (id: number) => String(id),
}
const BESIDES = { changes: true, print: true } as const

const spansOf = () => {
  const spans: Array<Tracer.Span> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = Tracer.nativeTracer.span(options)
      spans.push(span)
      return span
    },
  })
  return { spans, run: <A, E>(program: Effect.Effect<A, E>) => Effect.runSyncExit(Effect.withTracer(program, tracer)) }
}

const traced = observed(
  port,
  BESIDES,
  tracing(
    (operation, args) => ({ name: `${operation}(${args.join()})`, kind: "client", attributes: { operation } }),
    (failure) => failure instanceof Absent,
  ),
)

describe("a traced port", () => {
  test("has one span a call, beneath the span of the caller", () => {
    const { spans, run } = spansOf()
    const program = Effect.all([traced.find(7), traced.ready])
    deepEqual(run(Effect.withSpan(program, "caller")), Exit.succeed([7, "ready"]))
    const [caller, find, ready] = spans
    deepEqual([caller?.name, find?.name, ready?.name], ["caller", "find(7)", "ready()"])
    equal(find?.kind, "client")
    equal(find?.traceId, caller?.traceId)
    deepEqual([...(find?.attributes ?? [])], [["operation", "find"]])
  })

  test("has none without a caller's", () => {
    const { spans, run } = spansOf()
    deepEqual(run(traced.find(7)), Exit.succeed(7))
    deepEqual(spans, [])
  })

  test("gives its failures as they are; one that is an answer is no failure of the span", () => {
    for (const [id, tag, spanFails] of [
      [0, "Absent", false],
      [-1, "Away", true],
    ] as const) {
      const { spans, run } = spansOf()
      const exit = run(Effect.withSpan(Effect.flip(traced.find(id)), "caller"))
      ok(Exit.isSuccess(exit) && exit.value._tag === tag)
      const status = spans[1]?.status
      ok(status?._tag === "Ended" && Exit.isFailure(status.exit) === spanFails)
    }
  })

  test("keeps what gives no effect", async () => {
    equal(traced.name, "a port")
    equal(traced.print(3), "3")
    deepEqual(await Effect.runPromise(Stream.runCollect(traced.changes())), [1, 2])
  })
})

describe("a timed port", () => {
  const ended: Array<readonly [operation: string, ok: boolean]> = []
  const timed = observed(
    port,
    BESIDES,
    timing((operation, durationMs, exit) => {
      ok(durationMs >= 0)
      ended.push([operation, Exit.isSuccess(exit)])
    }),
  )

  test("tells of each call, and a call that is complete stays so", () => {
    ended.length = 0
    ok(Exit.isExit(timed.find(7)))
    ok(Exit.isExit(timed.find(0)))
    equal(Effect.runSync(timed.ready), "ready")
    deepEqual(ended, [
      ["find", true],
      ["find", false],
      ["ready", true],
    ])
  })

  test("tells of one that takes its time when it has ended", async () => {
    ended.length = 0
    const gate = Deferred.makeUnsafe<number>()
    const answer = Effect.runPromise(timed.slow(gate))
    deepEqual(ended, [])
    Deferred.doneUnsafe(gate, Exit.succeed(5))
    equal(await answer, 5)
    deepEqual(ended, [["slow", true]])
  })
})
