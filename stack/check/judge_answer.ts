import { type CheckCase, type Difference, isRefusal, wrong } from "./check_case.ts"
import type { RawAnswer } from "./raw_http.ts"
import { echoOf, isFromUpstream, type Watched } from "./upstream_watch.ts"

/** What became of one request. */
export interface Seen {
  readonly answer: RawAnswer
  /** How often the upstream was asked meanwhile; `undefined` when it does not count. */
  readonly touched: number | undefined
  readonly watched: Watched
}

/** What is different, if anything is; or that it cannot be known. */
export type Judged = Difference | "unknown" | undefined

const hole = (text: string): Difference => ({ severity: "hole", text })

/** True when what should have been refused reached the upstream. */
const isReached = ({ method = "GET" }: CheckCase, { answer, touched, watched }: Seen): boolean =>
  touched === undefined ? answer.answers.some((each) => isFromUpstream(each, method, watched)) : touched > 0

/** True when bytes behind the first request of a connection counted as a request and reached the upstream. */
const isSecondReached = ({ method = "GET" }: CheckCase, { answer, watched }: Seen): boolean =>
  answer.answers.slice(1).some((each) => isFromUpstream(each, method, watched))

const judgeContents = (each: CheckCase, { answer, watched }: Seen): Judged => {
  const passed = answer.statuses.startsWith("2")
  if (each.received !== undefined && passed) {
    const echo = echoOf(answer.body)
    const found = echo === undefined ? undefined : each.received(echo)
    if (found !== undefined) return found
  }
  if (each.needsEcho === true && passed && !watched.echoes) return "unknown"
  return answer.answers.length === 0 ? undefined : each.answered?.(answer.head)
}

/** A request whose body hides another: the outer one may be answered in several ways, the inner one must never be. */
const judgeHiding = (each: CheckCase, accepted: ReadonlyArray<string>, seen: Seen): Judged => {
  const { answer, touched } = seen
  if (isSecondReached(each, seen) || (touched ?? 0) > 1)
    return hole(`answered ${answer.statuses}, and the hidden request reached the upstream`)
  if (each.expect.includes(answer.statuses) || accepted.includes(answer.statuses)) return judgeContents(each, seen)
  return wrong(`answered ${answer.statuses}`)
}

const judgeRefusal = (each: CheckCase, seen: Seen): Judged => {
  const { statuses } = seen.answer
  if (isReached(each, seen)) {
    if (each.harmless === true) return wrong(`answered ${statuses}, and the upstream was reached`)
    return hole(
      each.expect.includes(statuses)
        ? "refused, and the upstream was asked all the same"
        : `answered ${statuses}, and the upstream was reached`,
    )
  }
  return each.expect.includes(statuses) ? judgeContents(each, seen) : wrong(`answered ${statuses}`)
}

const judgePass = (each: CheckCase, seen: Seen): Judged => {
  const { statuses } = seen.answer
  if (each.pipelines === true && isSecondReached(each, seen))
    return hole(`answered ${statuses}, and the second request reached the upstream`)
  if (each.expect.includes(statuses)) return judgeContents(each, seen)
  const isRefused = /^([34]\d\d|closed)\b/.test(statuses)
  return isRefused && each.mustPass !== true
    ? { severity: "stricter than ours", text: `answered ${statuses}` }
    : wrong(`answered ${statuses}`)
}

/** Compares what became of a request with what is right. */
export const judgeAnswer = (each: CheckCase, seen: Seen): Judged => {
  if (each.hides !== undefined) return judgeHiding(each, each.hides, seen)
  return isRefusal(each) ? judgeRefusal(each, seen) : judgePass(each, seen)
}
