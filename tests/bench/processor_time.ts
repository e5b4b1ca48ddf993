// Processor time of a server: what a request costs, whatever else runs on the machine. Linux only.
import { readdirSync, readFileSync } from "node:fs"

/** Unit of the times in /proc/<pid>/stat, microseconds: 1/100 s on every Linux of today (`getconf CLK_TCK`). */
const TICK_US = 10_000

interface ProcessStat {
  readonly pid: number
  readonly parent: number
  /** User and system time of all its threads and of its children that ended, ticks. */
  readonly ticks: number
}

/** One line of /proc/<pid>/stat; `undefined` for a process that ended meanwhile. */
const statOf = (pid: number): ProcessStat | undefined => {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, "utf8")
    // The second field, the name in parentheses, may itself hold blanks and parentheses; the third field is the state.
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ")
    const [parent, ...times] = [fields[1], ...fields.slice(11, 15)].map(Number)
    return { pid, parent: parent ?? 0, ticks: times.reduce((sum, ticks) => sum + ticks, 0) }
  } catch {
    return undefined
  }
}

/**
 * User and system time that a process and its descendants have taken so far, microseconds, in steps of 10 ms.
 *
 * @see proc_pid_stat(5): ppid is field 4; utime, stime, cutime, cstime are fields 14 to 17
 */
export const processorTimeOf = (pid: number): number => {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)))
    .filter((stat) => stat !== undefined)
  const timeBelow = (root: number): number =>
    all.filter(({ parent }) => parent === root).reduce((sum, child) => sum + child.ticks + timeBelow(child.pid), 0)
  const own = all.find((stat) => stat.pid === pid)
  if (own === undefined) throw new Error(`Process ${pid} has ended`)
  return (own.ticks + timeBelow(pid)) * TICK_US
}
