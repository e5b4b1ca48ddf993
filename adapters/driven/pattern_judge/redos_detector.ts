import { isSafePattern } from "redos-detector"
import type { PatternJudge } from "../../../domain/records/pattern_judge.ts"

/**
 * Work that one judgement may take. The common patterns of `tests/unit/records/patterns.test.ts` take 1 to 10 ms; what is not
 * judged after 500 steps (some 200 ms) is refused, as is what the detector cannot read.
 */
const LIMITS = { maxSteps: 500, maxScore: 200, timeout: Number.POSITIVE_INFINITY }

const isSafe = (pattern: string): boolean => {
  try {
    return isSafePattern(pattern, { unicode: true, ...LIMITS }).safe
  } catch {
    return false
  }
}

/**
 * Judges patterns by the paths that a text could take through them: a number of paths that grows with the text is refused,
 * exponential or polynomial.
 *
 * @see https://github.com/tjenkinson/redos-detector
 */
export const judgePattern: PatternJudge = (pattern) =>
  isSafe(pattern)
    ? undefined
    : "could take too long on hostile text: begin it with '^', and let no two repetitions match the same text"
