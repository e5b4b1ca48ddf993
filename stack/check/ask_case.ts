import { setTimeout } from "node:timers/promises"
import { type CheckCase, type CheckGroup, isRefusal, type Severity } from "./check_case.ts"
import type { Credentials, TokenBase } from "./credentials.ts"
import { judgeAnswer } from "./judge_answer.ts"
import { type RawAnswer, sendRaw, type TlsTrust } from "./raw_http.ts"
import { REASONS, type ReasonName } from "./reasons.ts"
import { reproduce } from "./reproduce.ts"
import type { Watched } from "./upstream_watch.ts"
import { requestText } from "./write_request.ts"

/** What one case showed. */
export interface CheckRow {
  readonly group: CheckGroup
  readonly name: string
  /** Method and target, shortened; no credential is in it. */
  readonly request: string
  readonly method: string
  /** Request target, shortened. */
  readonly target: string
  /** The credential and the route of a row of the tokens' matrix. */
  readonly cell?: { readonly credential: string; readonly route: string }
  readonly expected: string
  readonly got: string
  readonly outcome: "as expected" | "different" | "not asked"
  /** Of a difference. */
  readonly severity?: Severity
  /** What is different, or why it was not asked. */
  readonly note?: string
  readonly reason: ReasonName
  /** Why a difference matters, one sentence. */
  readonly why?: string
  /** RFC, advisory or weakness behind it. */
  readonly source?: string
  /** Line for a shell that shows the difference again; a token is taken from a variable. */
  readonly reproduce?: string
}

/** What a case is asked with. */
export interface Asking {
  readonly proxyUrl: string
  readonly trust: TlsTrust
  readonly credentials: Readonly<Record<TokenBase, Credentials>>
  readonly watched: Watched
}

const SHOWN_MAX = 60

const shortened = (target: string): string => (target.length > SHOWN_MAX ? `${target.slice(0, SHOWN_MAX)}...` : target)

/** Milliseconds without a new request after which the upstream counts as quiet. */
const QUIET_MS = 50

type Hits = NonNullable<Watched["hits"]>

const quiet = async (hits: Hits): Promise<void> => {
  let seen = await hits()
  for (;;) {
    await setTimeout(QUIET_MS)
    const now = await hits()
    if (now === seen) return
    seen = now
  }
}

/**
 * The answer, and how often the upstream was asked for it. A refusal that seems to have reached the upstream is asked again
 * once that is quiet: an earlier row's connection was closed on it while its request was still on the way. A gateway that
 * lets the request through does so the second time, too.
 */
const ask = async (each: CheckCase, send: () => Promise<RawAnswer>, hits: Hits | undefined) => {
  // Where the upstream may be asked, nobody needs to know how often it was.
  if (hits === undefined || !isRefusal(each)) return { answer: await send(), touched: undefined }
  const once = async () => {
    const before = await hits()
    const answer = await send()
    const after = await hits()
    return { answer, touched: before === undefined || after === undefined ? undefined : after - before }
  }
  const first = await once()
  // An answer that lets the request through explains the hit.
  if (first.touched === undefined || first.touched === 0 || /^2\d\d$/.test(first.answer.statuses)) return first
  await quiet(hits)
  return once()
}

/**
 * Asks one case.
 *
 * @throws {Unreachable} when there is no connection to the gateway
 */
export const askCase = async (each: CheckCase, asking: Asking): Promise<CheckRow> => {
  const { proxyUrl, trust, credentials, watched } = asking
  const { group, name, reason, cell, method = "GET", credential = "none", base = "access" } = each
  const target = shortened(each.target)
  const row = {
    group,
    name,
    request: `${method} ${target}`,
    method,
    target,
    ...(cell === undefined ? {} : { cell }),
    expected: each.expectation ?? each.expect.join(" or "),
    reason,
  }
  const token = credentials[base][credential]
  if (credential !== "none" && token === undefined)
    return { ...row, got: "-", outcome: "not asked", note: "this token cannot be made with what is known of the realm" }
  const request = requestText(each, new URL(proxyUrl).host, token)
  const { answer, touched } = await ask(each, () => sendRaw(proxyUrl, request, trust), watched.hits)
  const judged = judgeAnswer(each, { answer, touched, watched })
  const got = answer.statuses
  if (judged === undefined) return { ...row, got, outcome: "as expected" }
  if (judged === "unknown")
    return { ...row, got, outcome: "not asked", note: "the upstream does not tell what it received" }
  return {
    ...row,
    got,
    outcome: "different",
    severity: judged.severity,
    note: judged.text,
    ...REASONS[reason],
    reproduce: reproduce(each, proxyUrl, trust, token !== undefined),
  }
}
