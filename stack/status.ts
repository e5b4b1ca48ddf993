import { Effect } from "effect"
import { askControl } from "./control.ts"
import { isRunning } from "./process_identity.ts"
import { REALM } from "./realm.ts"
import { readState, SERVICES, type Service, type StackState } from "./state.ts"

/** Time a container may take to answer, milliseconds. */
const ANSWER_MS = 2000

/** The state of one service. */
export interface ServiceStatus {
  readonly service: Service
  readonly healthy: boolean
  readonly url: string
  readonly pid?: number
  /** What is wrong, when something is. */
  readonly detail?: string
}

/** The state of a stack, found by asking its services: the state file may be out of date. */
export interface StackStatus {
  readonly state: "healthy" | "degraded" | "not running"
  readonly services: ReadonlyArray<ServiceStatus>
}

const urlOf = ({ urls }: StackState, service: Service): string =>
  ({ upstream: urls.upstream, idp: urls.idp, gateway: urls.proxy })[service]

const askProcess = async (state: StackState, service: Service): Promise<ServiceStatus> => {
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

/** A request to each container and the status a healthy one answers with. */
const CONTAINER_ANSWERS: Readonly<Record<Service, readonly [path: string, status: number]>> = {
  upstream: ["/", 200],
  idp: [`/realms/${REALM.name}/.well-known/openid-configuration`, 200],
  gateway: ["/open/secret", 403],
}

const askContainer = async (state: StackState, service: Service): Promise<ServiceStatus> => {
  const url = urlOf(state, service)
  const [path, wanted] = CONTAINER_ANSWERS[service]
  const answer = await fetch(url + path, { redirect: "manual", signal: AbortSignal.timeout(ANSWER_MS) }).catch(
    () => undefined,
  )
  await answer?.body?.cancel()
  if (answer?.status === wanted) return { service, url, healthy: true }
  return { service, url, healthy: false, detail: answer === undefined ? "no answer" : `answers ${answer.status}` }
}

const askOne = (state: StackState, service: Service): Promise<ServiceStatus> =>
  state.project === undefined ? askProcess(state, service) : askContainer(state, service)

/** Looks at every service of a stack. */
export const inspect = (state: StackState): Effect.Effect<StackStatus> =>
  Effect.map(
    Effect.promise(() => Promise.all(SERVICES.map((service) => askOne(state, service)))),
    (services) => {
      const someAlive = services.some(({ pid, healthy }) => pid !== undefined || healthy)
      const allHealthy = services.every(({ healthy }) => healthy) && state.phase === "ready"
      return { state: allHealthy ? "healthy" : someAlive ? "degraded" : "not running", services }
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
