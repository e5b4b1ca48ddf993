import { Effect, Redacted } from "effect"
import { InvalidSchedulerSetup } from "../../../domain/scheduler/errors.ts"
import type { TlsOptions } from "../http_exchange.ts"
import { type AgentAddress, readAddress } from "./agent_address.ts"

/** How to reach an agent. */
export interface HttpSchedulerOptions {
  /** Agent address, with or without a trailing `/v1` (specification 2.2); `unix:///path` for a socket. */
  readonly baseUrl: string
  /** ACL token. */
  readonly token?: Redacted.Redacted
  /** Task group that scaling targets (specification 4.3 rule 1). */
  readonly scaleGroup: string
  /** Deadline of a read, milliseconds; 10000 when omitted. */
  readonly readTimeoutMs?: number
  /** Deadline of a change, milliseconds. 45000 when omitted: servers may take 35 s, a shorter wait would end unknown. */
  readonly writeTimeoutMs?: number
  /** Requests in flight at most; 32 when omitted. Agents refuse more than 100 connections of one address. */
  readonly maxInFlight?: number
  /** How often a call is repeated when that is safe; 0 when omitted: one call is one request. */
  readonly retries?: number
  /** TLS beyond the runtime's own trust; only under Bun. */
  readonly tls?: TlsOptions
  /** Logs every exchange at debug level, secrets masked (specification 2.2, option LogLevel). */
  readonly debug?: boolean
}

/** What a header value can carry: a token of other characters could never arrive as it is. */
const HEADER_VALUE = /^[\x21-\x7e\x80-\xff](?:[\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/

const wholeNumberFrom = (least: number, value: number | undefined): boolean =>
  value === undefined || (Number.isSafeInteger(value) && value >= least)

/** The options with which no call could ever work, each with its rule. */
const brokenRules = (options: HttpSchedulerOptions, { unixSocket }: AgentAddress, token: string) => {
  const bunOnly = "works only under Bun"
  const checks: ReadonlyArray<readonly [option: keyof HttpSchedulerOptions, fits: boolean, rule: string]> = [
    ["token", token === "" || HEADER_VALUE.test(token), "must be a header value"],
    ["scaleGroup", options.scaleGroup !== "", "must not be empty"],
    ["readTimeoutMs", wholeNumberFrom(1, options.readTimeoutMs), "must be a whole number above 0"],
    ["writeTimeoutMs", wholeNumberFrom(1, options.writeTimeoutMs), "must be a whole number above 0"],
    ["maxInFlight", wholeNumberFrom(1, options.maxInFlight), "must be a whole number above 0"],
    ["retries", wholeNumberFrom(0, options.retries), "must be a whole number, 0 or more"],
    ["tls", options.tls === undefined || "Bun" in globalThis, bunOnly],
    ["baseUrl", unixSocket === undefined || "Bun" in globalThis, bunOnly],
  ]
  return checks.filter(([, fits]) => !fits)
}

/**
 * Reads the options that can be wrong.
 *
 * @returns the address as its parts, and the token; an empty one is none
 * @fails {InvalidSchedulerSetup} naming the option that can never work
 */
export const checkOptions = Effect.fnUntraced(function* (options: HttpSchedulerOptions) {
  const address = readAddress(options.baseUrl)
  if ("rule" in address) return yield* new InvalidSchedulerSetup({ option: "baseUrl", rule: address.rule })
  const token = options.token === undefined ? "" : Redacted.value(options.token)
  const [broken] = brokenRules(options, address, token)
  if (broken !== undefined) return yield* new InvalidSchedulerSetup({ option: broken[0], rule: broken[2] })
  return { address, token }
})
