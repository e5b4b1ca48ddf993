import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"

/** A process, told apart from a later one with the same number. */
export interface ProcessIdentity {
  readonly pid: number
  /** When it started, as the system tells it; two processes of one number differ in it. */
  readonly born: string
}

/** Field 22 of `/proc/<pid>/stat`: start time in clock ticks since boot. The name in field 2 may hold anything. */
const fromProc = (pid: number): string | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    // A zombie has ended, but its parent has not yet taken its exit status.
    return fields[0] === "Z" ? undefined : fields[19]
  } catch {
    return undefined
  }
}

const fromPs = (pid: number): string | undefined =>
  spawnSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).stdout?.trim() || undefined

const bornAt = (pid: number): string | undefined => (process.platform === "linux" ? fromProc(pid) : fromPs(pid))

/** Identity of a running process; `undefined` when none has this number. */
export const identify = (pid: number): ProcessIdentity | undefined => {
  const born = bornAt(pid)
  return born === undefined ? undefined : { pid, born }
}

/** True while that very process runs. */
export const isRunning = ({ pid, born }: ProcessIdentity): boolean => bornAt(pid) === born

/** Sends a signal to that very process; nothing happens to another one that has its number now. */
export const signal = (identity: ProcessIdentity, name: "SIGTERM" | "SIGKILL"): void => {
  if (!isRunning(identity)) return
  try {
    process.kill(identity.pid, name)
  } catch (failure) {
    // Ended between the look and the signal.
    if (!(failure instanceof Error && "code" in failure && failure.code === "ESRCH")) throw failure
  }
}
