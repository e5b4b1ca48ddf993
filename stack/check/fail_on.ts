import { SEVERITIES, type Severity } from "./check_case.ts"
import type { CheckResult } from "./run_check.ts"

/** From which severity on a check has failed, as people write it. */
export const FAIL_ON = { hole: "hole", leak: "leak", wrong: "wrong answer" } as const satisfies Readonly<
  Record<string, Severity>
>
/** One of the words for `--fail-on`. */
export type FailOn = keyof typeof FAIL_ON

/** True for a severity that makes a check fail. */
export const isFailure = (severity: Severity | undefined, failOn: FailOn): boolean =>
  severity !== undefined && SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(FAIL_ON[failOn])

/** Number of differences that make the check fail. */
export const failuresIn = ({ rows }: CheckResult, failOn: FailOn): number =>
  rows.filter(({ severity }) => isFailure(severity, failOn)).length

const PLURALS: Readonly<Record<Severity, string>> = {
  hole: "holes",
  leak: "leaks",
  "wrong answer": "wrong answers",
  "stricter than ours": "stricter than ours",
}

/** `2 holes, 1 leak, 0 wrong answers, 3 stricter than ours, 290 as expected, 0 not asked` */
export const countsSentence = ({ severities, asExpected, notAsked }: CheckResult): string =>
  [
    ...SEVERITIES.map((each) => `${severities[each]} ${severities[each] === 1 ? each : PLURALS[each]}`),
    `${asExpected} as expected`,
    `${notAsked} not asked`,
  ].join(", ")

/** One line that says how the check ended, and by which rule. */
export const verdictSentence = (result: CheckResult, failOn: FailOn): string => {
  const failures = failuresIn(result, failOn)
  return failures === 0
    ? `passed (--fail-on ${failOn})`
    : `failed: ${failures} ${failures === 1 ? "difference" : "differences"} (--fail-on ${failOn})`
}
