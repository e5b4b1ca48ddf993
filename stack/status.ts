import { Effect } from "effect"
import { askControl } from "./control.ts"
import { isRunning } from "./process_identity.ts"
import { readState, SERVICES, type Service, type StackState } from "./state.ts"

export interface ServiceStatus {
  readonly service: Service
  readonly healthy: boolean
  readonly url: string
  readonly pid?: number
  /** What is wrong, when something is. */
  readonly detail?: string
}

/** What is there now, found by asking and not by believing the state file. */
export interface StackStatus {
  readonly state: "healthy" | "degraded" | "not running"
  readonly services: ReadonlyArray<ServiceStatus>
}

const urlOf = ({ urls }: StackState, service: Service): string =>
  ({ upstream: urls.upstream, idp: urls.idp, gateway: urls.proxy })[service]

const askOne = async (state: StackState, service: Service): Promise<ServiceStatus> => {
  const url = urlOf(state, service)
  const process = state.processes.find((each) => each.service === service)
  if (process === undefined || !isRunning(process))
    return { service, url, healthy: false, detail: "its process is gone" }
  const report = await askControl(url, state.secrets.control)
  const known = { service, url, pid: process.pid }
  if (typeof report === "string") return { ...known, healthy: false, detail: report }
  return report.service === service && report.pid === process.pid
    ? { ...known, healthy: true }
    : { ...known, healthy: false, detail: "another process answers there" }
}

/** Looks at every service of a stack. */
export const inspect = (state: StackState): Effect.Effect<StackStatus> =>
  Effect.map(
    Effect.promise(() => Promise.all(SERVICES.map((service) => askOne(state, service)))),
    (services) => {
      const alive = services.filter(({ pid }) => pid !== undefined).length
      const healthy = services.every((each) => each.healthy) && state.phase === "ready"
      return { state: healthy ? "healthy" : alive === 0 ? "not running" : "degraded", services }
    },
  )

/** Exit codes of `stack status`. */
export const STATUS_EXIT = { healthy: 0, degraded: 1, "not running": 3 } as const

/** The stack of a home folder, as it is now. */
export const status = Effect.fn("stack.status")(function* (home: string) {
  const state = readState(home)
  const none: StackStatus = { state: "not running", services: [] }
  return state === undefined ? none : yield* inspect(state)
})
