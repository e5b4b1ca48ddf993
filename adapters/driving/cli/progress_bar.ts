import type { Terminal } from "./command.ts"

const CLEAR_LINE = "\r\u001b[2K"
const WIDTH = 24
/** Least time between two drawings, milliseconds. */
const PERIOD_MS = 100

/** How far a transfer has come. */
export interface Progress {
  /** Part that is done, 0..1; undefined when nobody knows how much there is. */
  readonly part: number | undefined
  readonly records: number
}

/** One line: a bar where the end is known, the number of records, their rate, the time that is left. */
export const progressLine = ({ part, records }: Progress, sinceMs: number): string => {
  const rate = sinceMs < 1 ? 0 : Math.round((records * 1000) / sinceMs)
  const words = [`${records.toLocaleString("en")} records`, `${rate.toLocaleString("en")}/s`]
  if (part === undefined) return words.join("  ")
  const filled = Math.round(Math.min(part, 1) * WIDTH)
  const bar = `[${"#".repeat(filled)}${".".repeat(WIDTH - filled)}] ${String(Math.floor(part * 100)).padStart(3)}%`
  const leftS = part <= 0 ? undefined : Math.round((sinceMs * (1 - part)) / part / 1000)
  return [bar, ...words, ...(leftS === undefined ? [] : [`${leftS} s left`])].join("  ")
}

/**
 * Draws on a terminal that a person watches, and nowhere else; leaves nothing behind.
 *
 * @param nowMs a clock that never goes back, milliseconds
 */
export const progressBar = ({ interactive, err }: Terminal, nowMs: () => number = () => performance.now()) => {
  const startedAtMs = nowMs()
  let drawnAtMs = Number.NEGATIVE_INFINITY
  return {
    show: (progress: Progress): void => {
      if (!interactive || nowMs() - drawnAtMs < PERIOD_MS) return
      drawnAtMs = nowMs()
      err(`${CLEAR_LINE}${progressLine(progress, nowMs() - startedAtMs)}`)
    },
    end: (): void => {
      if (interactive) err(CLEAR_LINE)
    },
  }
}
