// Lines become batches: every line in one of them, in order, none over the bounds, and the same ones again from the same place.
import { deepEqual, equal, ok } from "node:assert/strict"
import { describe, test } from "node:test"
import { Effect, Stream } from "effect"
import fc from "fast-check"
import { progressLine } from "../../../adapters/driving/cli/progress_bar.ts"
import { batchesOf, type InputLine } from "../../../application/records/transfer.ts"

const BYTES_MAX = 1_048_576

const linesOf = (texts: ReadonlyArray<string>): ReadonlyArray<InputLine> => {
  let end = 0
  return texts.map((text, at) => {
    const bytes = text.length + 1
    end += bytes
    return { text, number: at + 1, bytes, end }
  })
}

const batched = (lines: ReadonlyArray<InputLine>, start = 0) =>
  Effect.runSync(Stream.runCollect(batchesOf(Stream.fromIterable(lines), start)))

/** A line of JSON of about so many bytes; a blank one for 0. */
const sized = (bytes: number): string => (bytes === 0 ? "" : JSON.stringify("x".repeat(bytes)))

describe("batches of an import", () => {
  test("hold every line that is not blank, in order, within the bounds; and begin anew anywhere", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 600_000 })), {
          maxLength: 40,
        }),
        fc.integer({ min: 0, max: 2500 }),
        (sizes, more) => {
          const lines = linesOf([...sizes.map(sized), ...Array<string>(more).fill("1")])
          const batches = [...batched(lines)]
          const kept = lines.filter(({ text }) => text !== "")
          deepEqual(
            batches.flatMap((batch) => batch.lines),
            kept,
          )
          for (const [at, { lines: own, start, end }] of batches.entries()) {
            ok(own.length >= 1 && own.length <= 1000)
            ok(own.reduce((sum, { bytes }) => sum + bytes, 0) <= BYTES_MAX)
            equal(start, batches[at - 1]?.end ?? 0)
            equal(end, own.at(-1)?.end)
          }
          // After a break the import begins behind any batch, and makes the same ones.
          const half = batches.length >> 1
          const from = batches[half - 1]?.end ?? 0
          deepEqual(
            [
              ...batched(
                lines.filter(({ end }) => end > from),
                from,
              ),
            ],
            batches.slice(half),
          )
        },
      ),
      { numRuns: 40 },
    )
  })
})

describe("the progress line", () => {
  for (const [part, records, sinceMs, line] of [
    [undefined, 1234, 1000, "1,234 records  1,234/s"],
    [0, 0, 0, "[........................]   0%  0 records  0/s"],
    [0.5, 500_000, 10_000, "[############............]  50%  500,000 records  50,000/s  10 s left"],
    [1, 10, 1000, "[########################] 100%  10 records  10/s  0 s left"],
  ] as const)
    test(`is "${line}"`, () => equal(progressLine({ part, records }, sinceMs), line))
})
