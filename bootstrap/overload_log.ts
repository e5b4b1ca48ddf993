import type { Log } from "./log_output.ts"

/** Least time between two lines, milliseconds: an overload must not become an overload of the log. */
const BETWEEN_LINES_MS = 1_000

/**
 * Writes of requests that were refused for the load: a line at the first of them, then at most one a second with how many
 * there were since the line before. The exact number is in the metrics.
 *
 * @param log takes the lines
 * @returns to be called for each of them
 */
export const overloadLog = (log: Log): (() => void) => {
  let writtenAtMs = Number.NEGATIVE_INFINITY
  let refused = 0
  return () => {
    refused++
    const nowMs = performance.now()
    if (nowMs - writtenAtMs < BETWEEN_LINES_MS) return
    log.line("WARN", "Overloaded: more than MAX_IN_FLIGHT requests are running", { refused })
    writtenAtMs = nowMs
    refused = 0
  }
}
