import { isObject } from "../json_object.ts"

/** How much of the platform's budget is used, as its answers tell. */
export interface Usage {
  /** Largest percentage of the app's budget. */
  readonly appPercent?: number
  /** Largest percentage of the account's budget. */
  readonly accountPercent?: number
  /** Time until access is given back, ms; 0 when it is not withheld. */
  readonly regainMs?: number
}

const parsed = (text: string | null): unknown => {
  if (text === null) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const PERCENTAGES = ["call_count", "total_time", "total_cputime"]

const numberOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined

const largest = (values: ReadonlyArray<number | undefined>): number | undefined => {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}

const percentOf = (entry: unknown): number | undefined => {
  if (!isObject(entry)) return undefined
  const percent = largest(PERCENTAGES.map((name) => numberOf(entry[name])))
  return percent === undefined ? undefined : Math.min(percent, 100)
}

/**
 * Reads the two usage headers; what is absent (`null`) or malformed is left out.
 *
 * @param headers.app `X-App-Usage`: `{"call_count":28,"total_time":25,"total_cputime":25}`, percentages
 * @param headers.business `X-Business-Use-Case-Usage`: `{"<id>":[{...,"estimated_time_to_regain_access":19}]}`, minutes
 */
export const readUsage = (headers: { readonly app: string | null; readonly business: string | null }): Usage => {
  const business = parsed(headers.business)
  const entries = isObject(business) ? Object.values(business).flatMap((each) => (Array.isArray(each) ? each : [])) : []
  const appPercent = percentOf(parsed(headers.app))
  const accountPercent = largest(entries.map(percentOf))
  const minutes = largest(
    entries.map((entry) => (isObject(entry) ? numberOf(entry["estimated_time_to_regain_access"]) : undefined)),
  )
  return {
    ...(appPercent === undefined ? {} : { appPercent }),
    ...(accountPercent === undefined ? {} : { accountPercent }),
    ...(minutes === undefined ? {} : { regainMs: Math.min(minutes, 1440) * 60_000 }),
  }
}

const SLOW_FROM_PERCENT = 75
const STOP_FROM_PERCENT = 90
const SLOWEST_MS = 5_000
/** Pause when the budget is used up and the platform does not say for how long, ms. */
const PAUSE_MS = 60_000

/**
 * Milliseconds to leave before the next call: none below 75 %, growing to 5 s at 90 %, then until access is given back.
 *
 * @param percent share of the budget used, 0..100; `undefined` when the answer did not tell
 * @param regainMs time until access is given back, when told
 */
export const paceAfter = (percent: number | undefined, regainMs: number | undefined): number => {
  if (percent === undefined || percent < SLOW_FROM_PERCENT) return 0
  if (percent >= STOP_FROM_PERCENT) return regainMs !== undefined && regainMs > 0 ? regainMs : PAUSE_MS
  return Math.round((SLOWEST_MS * (percent - SLOW_FROM_PERCENT)) / (STOP_FROM_PERCENT - SLOW_FROM_PERCENT))
}
