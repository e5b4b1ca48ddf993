// What another process holds, read from /proc: Linux only.
import { readdirSync, readFileSync, writeFileSync } from "node:fs"

/** Memory of a process in bytes: now (`VmRSS`), or the most since {@link forgetPeak} (`VmHWM`). */
export const memoryOf = (pid: number, field: "VmRSS" | "VmHWM" = "VmRSS"): number =>
  1024 * Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? Number.NaN)

/** Forgets the most memory the process ever held (proc(5), clear_refs). */
export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, "5")

/** Open descriptors of a process: files, sockets, and the timers of its event loop. */
export const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

/** Threads of a process. */
export const threadsOf = (pid: number): number => readdirSync(`/proc/${pid}/task`).length

/** How often a process's first thread, which runs its event loop, woke since its start: an idle one is woken by its timers. */
export const wakeUpsOf = (pid: number): number =>
  Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? Number.NaN)
