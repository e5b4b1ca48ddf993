import { deepEqual, equal } from "node:assert/strict"
import { test } from "node:test"
import { Context, Exit, Option, Tracer } from "effect"
import { type SpanLine, spanLines, traceTree } from "../../../adapters/driving/cli/trace_tree.ts"

const MS = 1_000_000n

const span = (name: string, startMs: bigint, endMs: bigint | undefined, parent?: Tracer.Span): Tracer.Span => {
  const made = Tracer.nativeTracer.span({
    name,
    parent: Option.fromNullishOr(parent),
    annotations: Context.empty(),
    links: [],
    startTime: startMs * MS,
    kind: "internal",
    root: false,
    sampled: true,
  })
  if (name === "work") made.attribute("state", "stopped")
  if (endMs !== undefined) made.end(endMs * MS, Exit.void)
  return made
}

const request = span("request", 1000n, 1020n)
const work = span("work", 1002n, 1018n, request)
const later = span("later", 1500n, undefined, request)

test("spans come in the order in which they began, times from the first", () => {
  const lines = spanLines([later, work, request])
  deepEqual(
    lines.map(({ name, startMs, durationMs, parent }) => [name, startMs, durationMs, parent]),
    [
      ["request", 0, 20, null],
      ["work", 2, 16, request.spanId],
      ["later", 500, null, request.spanId],
    ],
  )
})

test("each stands beneath the one it belongs to, one whose parent is elsewhere at the left", () => {
  const stray: SpanLine = { ...(spanLines([work])[0] as SpanLine), id: "x", parent: "of another process" }
  equal(
    traceTree([...spanLines([request, work, later]), stray]),
    [
      "START MS  TOOK MS  SPAN     ATTRIBUTES",
      "0.00      20.00    request",
      "2.00      16.00      work   state=stopped",
      "500.00    -          later",
      "0.00      16.00    work     state=stopped",
    ].join("\n"),
  )
})
