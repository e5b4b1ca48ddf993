import { deepEqual, equal } from "node:assert/strict"
import { describe } from "node:test"
import { Effect } from "effect"
import { makePage, PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from "../../../domain/records/page.ts"
import { effectTest } from "../../support/effect_test.ts"

describe("makePage()", () => {
  effectTest("defaults start and limit", function* () {
    deepEqual(yield* makePage({}), { start: 0, limit: PAGE_LIMIT_DEFAULT })
  })

  for (const [limit, effective] of [
    [0, 0],
    [1, 1],
    [PAGE_LIMIT_MAX, PAGE_LIMIT_MAX],
    [PAGE_LIMIT_MAX + 1, PAGE_LIMIT_MAX],
    [Number.MAX_SAFE_INTEGER, PAGE_LIMIT_MAX],
  ] as const)
    effectTest(`clamps limit ${limit} to ${effective}`, function* () {
      equal((yield* makePage({ limit })).limit, effective)
    })

  for (const value of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])
    for (const parameter of ["start", "limit"] as const)
      effectTest(`refuses ${parameter} ${value}`, function* () {
        const refusal = yield* Effect.flip(makePage({ [parameter]: value }))
        equal(refusal._tag, "InvalidPage")
        equal(refusal.parameter, parameter)
      })
})
