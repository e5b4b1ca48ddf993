import { Data, Effect } from "effect"
import { askCase, type CheckRow } from "./ask_case.ts"
import { startAttackerServer } from "./attacker_server.ts"
import { type CheckCase, SEVERITIES, type Severity } from "./check_case.ts"
import type { CheckedGateway } from "./checked_gateway.ts"
import { NO_CREDENTIALS, newHostileKey, shellVariables } from "./credentials.ts"
import { framingCases, pipelinedCases } from "./framing_cases.ts"
import { gatherTokens, NoTokens, type TokenSupply } from "./gather_tokens.ts"
import { goodRequests } from "./good_requests.ts"
import { headerCases } from "./header_cases.ts"
import { loginCases } from "./login_cases.ts"
import { pathCases } from "./path_cases.ts"
import { sendRaw, type TlsTrust, Unreachable } from "./raw_http.ts"
import { REASONS, rankOf } from "./reasons.ts"
import { tokenCases } from "./token_cases.ts"
import { echoOf, isFromUpstream, type UpstreamWatch, type Watched, watchSentence } from "./upstream_watch.ts"
import { requestText } from "./write_request.ts"

/** A gateway to check. */
export interface CheckTarget extends TokenSupply {
  readonly proxyUrl: string
  readonly gateway: CheckedGateway
  /** How the check knows what reached the upstream. */
  readonly watch?: UpstreamWatch
  readonly trust?: TlsTrust
}

/** Who hears of a check while it runs. */
export interface CheckListener {
  /** A row was asked. */
  readonly progress?: (done: number, total: number) => void
  /** The tokens of the check as assignments for a shell, for the lines that reproduce a difference. */
  readonly tokens?: (assignments: string) => void
}

/** What a check found. */
export interface CheckResult {
  readonly target: { readonly proxyUrl: string; readonly routes: ReadonlyArray<string>; readonly upstream: string }
  /** Differences first, the gravest before the others; then the rest in the order it was asked. */
  readonly rows: ReadonlyArray<CheckRow>
  readonly asExpected: number
  readonly different: number
  readonly notAsked: number
  /** Differences by severity. */
  readonly severities: Readonly<Record<Severity, number>>
}

/** The gateway cannot be checked with what was said of it; nothing counts as held. */
export class CannotCheck extends Data.TaggedError("CannotCheck")<{ readonly reason: string }> {
  readonly code = "CANNOT_CHECK"
  readonly exitCode = 2
  override get message(): string {
    return this.reason
  }
}

/**
 * Every case for a gateway.
 *
 * @param upstreamPath path at which the upstream sees the open path
 */
export const checkCases = (gateway: CheckedGateway, upstreamPath = "/allowed"): ReadonlyArray<CheckCase> => [
  ...pathCases(gateway, upstreamPath),
  ...tokenCases(gateway),
  ...headerCases(gateway),
  ...framingCases(gateway),
  ...loginCases(gateway),
  ...pipelinedCases(gateway),
]

const attackerRow = (fetches: number): CheckRow => ({
  group: "tokens",
  name: "no key is fetched from where a token says",
  request: "all of the above",
  method: "GET",
  target: "",
  expected: "0 fetches",
  got: `${fetches} fetches`,
  reason: "key-from-token",
  ...(fetches === 0
    ? { outcome: "as expected" }
    : {
        outcome: "different",
        severity: "leak",
        note: "the gateway asked a server that a token named",
        ...REASONS["key-from-token"],
      }),
})

/** A check that is ready to ask: tokens are made, and the attacker's server listens. */
export interface PreparedCheck {
  readonly cases: ReadonlyArray<CheckCase>
  /** How it is known what reached the upstream. */
  readonly upstream: string
  readonly tokens: string
  readonly ask: (each: CheckCase) => Promise<CheckRow>
  /** What became of the attacker's server. */
  readonly attacker: () => CheckRow
  readonly close: () => void
}

type TokenOf = (each: ReturnType<typeof goodRequests>[number]) => string | undefined

/** Asks something that must pass, and learns from the answer how the upstream can be known. */
const learn = async ({ proxyUrl, gateway, watch = {}, trust = {} }: CheckTarget, tokenOf: TokenOf) => {
  const good = goodRequests(gateway).find((each) => !each.hasToken || tokenOf(each) !== undefined)
  const target = good?.target ?? gateway.secret ?? gateway.routes[0]?.target ?? "/"
  const request = { group: "paths", name: target, reason: "open", target, expect: [] } as const
  const bytes = requestText(request, new URL(proxyUrl).host, good === undefined ? undefined : tokenOf(good))
  const before = await watch.hits?.()
  const answer = await sendRaw(proxyUrl, bytes, trust)
  const after = await watch.hits?.()
  const [first] = answer.answers
  if (first === undefined) throw new CannotCheck({ reason: `nothing that speaks HTTP answers at ${proxyUrl}` })
  const echo = echoOf(first.body)
  const watched: Watched = { ...watch, echoes: echo !== undefined }
  const passed = good !== undefined && first.status.startsWith("2")
  if (passed && watch.hits !== undefined && (before === undefined || after === before))
    throw new CannotCheck({ reason: `${proxyUrl}${target} was answered, but not by the upstream that counts` })
  if (passed && watch.marker !== undefined && !isFromUpstream(first, "GET", watched))
    throw new CannotCheck({ reason: `the answer to ${proxyUrl}${target} does not hold the marker` })
  const learnt = passed && good?.hasToken === false ? echo?.path : undefined
  return { watched, upstreamPath: gateway.isStack ? "/allowed" : (learnt ?? gateway.open ?? "/") }
}

/** Tokens, and the attacker's server that some of them name; neither is made when no token can be had. */
const equip = async (target: CheckTarget) => {
  if (target.tokens === undefined) return { credentials: NO_CREDENTIALS, fetches: () => 0, close: () => {} }
  const hostileKey = newHostileKey()
  const { url, fetches, close } = await startAttackerServer(hostileKey)
  const gathered = gatherTokens(target, target.tokens, { hostileUrl: url, hostileKey })
  const credentials = await gathered.catch((failure: unknown) => {
    close()
    throw failure
  })
  return { credentials, fetches, close }
}

/**
 * Makes the tokens, starts the attacker's server and asks the first request.
 *
 * @throws {Unreachable | CannotCheck | NoTokens} when gateway or identity provider cannot be asked
 */
export const prepareCheck = async (target: CheckTarget): Promise<PreparedCheck> => {
  const { proxyUrl, gateway, trust = {} } = target
  const { credentials, fetches, close } = await equip(target)
  try {
    const { watched, upstreamPath } = await learn(target, ({ base, credential }) => credentials[base][credential])
    return {
      cases: checkCases(gateway, upstreamPath),
      upstream: watchSentence(watched),
      tokens: shellVariables(credentials),
      ask: (each) => askCase(each, { proxyUrl, trust, credentials, watched }),
      attacker: () => attackerRow(fetches()),
      close,
    }
  } catch (failure) {
    close()
    throw failure
  }
}

const gravity = ({ severity, reason }: CheckRow): number =>
  severity === undefined ? Number.POSITIVE_INFINITY : SEVERITIES.indexOf(severity) * 1000 + rankOf(reason)

/** Counts the rows and puts the gravest first. */
const resultOf = (target: CheckResult["target"], asked: ReadonlyArray<CheckRow>): CheckResult => {
  const count = (outcome: CheckRow["outcome"]) => asked.filter((row) => row.outcome === outcome).length
  const ofSeverity = (severity: Severity) => asked.filter((row) => row.severity === severity).length
  return {
    target,
    // Sorting keeps rows of the same gravity in their order.
    rows: asked.toSorted((one, other) => {
      const [a, b] = [gravity(one), gravity(other)]
      return a === b ? 0 : a < b ? -1 : 1
    }),
    asExpected: count("as expected"),
    different: count("different"),
    notAsked: count("not asked"),
    severities: {
      hole: ofSeverity("hole"),
      leak: ofSeverity("leak"),
      "wrong answer": ofSeverity("wrong answer"),
      "stricter than ours": ofSeverity("stricter than ours"),
    },
  }
}

const run = async (target: CheckTarget, { progress, tokens }: CheckListener): Promise<CheckResult> => {
  const prepared = await prepareCheck(target)
  try {
    tokens?.(prepared.tokens)
    const rows: Array<CheckRow> = []
    const total = prepared.cases.length
    // One at a time: only then does a hit at the upstream belong to one request.
    for (const each of prepared.cases) {
      rows.push(await prepared.ask(each))
      progress?.(rows.length, total)
    }
    if (target.tokens !== undefined) rows.push(prepared.attacker())
    const { open, secret, routes } = target.gateway
    const asked = [open, secret, ...routes.map((route) => route.label)].filter((each) => each !== undefined)
    return resultOf({ proxyUrl: target.proxyUrl, routes: asked, upstream: prepared.upstream }, rows)
  } finally {
    prepared.close()
  }
}

/**
 * Asks a gateway everything it should refuse, and what it should let through.
 *
 * @fails {Unreachable} when nothing answers, at the start or later: what was asked before does not count
 * @fails {CannotCheck} when what answers is not what was described
 * @fails {NoTokens} when the identity provider gives no tokens
 */
export const check = Effect.fn("stack.check")((target: CheckTarget, listener: CheckListener = {}) =>
  Effect.tryPromise({
    try: () => run(target, listener),
    catch: (failure) =>
      failure instanceof Unreachable || failure instanceof CannotCheck || failure instanceof NoTokens
        ? failure
        : new CannotCheck({ reason: failure instanceof Error ? failure.message : "the check broke off" }),
  }),
)
