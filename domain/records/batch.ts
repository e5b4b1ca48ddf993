import { Effect } from "effect"
import type { Issue } from "../issue.ts"
import type { Collection } from "./collection.ts"
import { InvalidRecord } from "./errors.ts"
import { ISSUES_MAX } from "./json_hygiene.ts"

/** Most records that are created together. */
export const BATCH_MAX = 1000

/**
 * Judges records that are to be created together, each by its collection.
 *
 * @param input untrusted
 * @fails {InvalidRecord} when it is no array of 1 to {@link BATCH_MAX} records, or any of them breaks a rule; a pointer
 * begins with the record's place in the array, from 0
 */
export const checkBatch = <F extends object>(
  { name, check }: Pick<Collection<F>, "name" | "check">,
  input: unknown,
): Effect.Effect<ReadonlyArray<F>, InvalidRecord> => {
  const invalid = (issues: ReadonlyArray<Issue>) => Effect.fail(new InvalidRecord({ collection: name, issues }))
  if (!Array.isArray(input)) return invalid([{ pointer: "", message: "must be an array of records" }])
  if (input.length < 1 || input.length > BATCH_MAX)
    return invalid([{ pointer: "", message: `must hold 1 to ${BATCH_MAX} records` }])
  return Effect.gen(function* () {
    const accepted: Array<F> = []
    const issues: Array<Issue> = []
    for (const [at, each] of input.entries()) {
      const checked = yield* Effect.result(check(each))
      if (checked._tag === "Success") accepted.push(checked.success)
      else issues.push(...checked.failure.issues.map((issue) => ({ ...issue, pointer: `/${at}${issue.pointer}` })))
      if (issues.length >= ISSUES_MAX) break
    }
    return issues.length > 0 ? yield* invalid(issues.slice(0, ISSUES_MAX)) : accepted
  })
}
