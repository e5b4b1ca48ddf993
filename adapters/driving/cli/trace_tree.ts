import { Option, type Tracer } from "effect"
import { textTable } from "./text_table.ts"

/** A span of a trace, as it is printed. */
export interface SpanLine {
  readonly id: string
  readonly parent: string | null
  readonly name: string
  readonly kind: Tracer.SpanKind
  /** From the start of the trace, milliseconds. */
  readonly startMs: number
  /** Null for a span that has not ended. */
  readonly durationMs: number | null
  readonly attributes: Readonly<Record<string, unknown>>
}

const milliseconds = (nanos: bigint): number => Math.round(Number(nanos) / 10_000) / 100

/**
 * The spans of one trace, in the order in which they began.
 *
 * @param spans of the trace; times count from the first of them
 */
export const spanLines = (spans: ReadonlyArray<Tracer.Span>): ReadonlyArray<SpanLine> => {
  const sorted = [...spans].sort((one, other) => Number(one.status.startTime - other.status.startTime))
  const began = sorted[0]?.status.startTime ?? 0n
  return sorted.map(({ spanId, parent, name, kind, status, attributes }) => ({
    id: spanId,
    parent: Option.match(parent, { onNone: () => null, onSome: ({ spanId }) => spanId }),
    name,
    kind,
    startMs: milliseconds(status.startTime - began),
    durationMs: status._tag === "Ended" ? milliseconds(status.endTime - status.startTime) : null,
    attributes: Object.fromEntries(attributes),
  }))
}

/** The spans as a table: each stands beneath the one it belongs to, a step further to the right. */
export const traceTree = (lines: ReadonlyArray<SpanLine>): string => {
  const ids = new Set(lines.map(({ id }) => id))
  const below = (parent: string | undefined) =>
    lines.filter((line) => (parent === undefined ? !ids.has(line.parent ?? "") : line.parent === parent))
  const rows = (parent: string | undefined, depth: number): ReadonlyArray<ReadonlyArray<string>> =>
    below(parent).flatMap(({ id, name, startMs, durationMs, attributes }) => {
      const shown = Object.entries(attributes).map(([key, value]) => `${key}=${value}`)
      const took = durationMs === null ? "-" : durationMs.toFixed(2)
      return [[startMs.toFixed(2), took, `${"  ".repeat(depth)}${name}`, shown.join(" ")], ...rows(id, depth + 1)]
    })
  return textTable(["start ms", "took ms", "span", "attributes"], rows(undefined, 0))
}
