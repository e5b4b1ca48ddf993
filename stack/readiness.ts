import { Clock, Effect } from "effect"
import { type RoutePolicy, routesOf } from "../domain/gateway/route_profile.ts"
import { sendRaw } from "./check/raw_http.ts"
import { connectionFailure } from "./connection_failure.ts"
import { askControl } from "./control.ts"
import { WORKERS } from "./docker/images.ts"
import { StackFailed } from "./errors.ts"
import { lastLines } from "./logs.ts"
import { isRunning } from "./process_identity.ts"
import { ENDPOINTS, issuerOf, REALM } from "./realm.ts"
import { type Service, type StackState, stackFiles } from "./state.ts"

const POLL_MS = 40
const REQUEST_MS = 2000
/** Milliseconds between two lines of progress about the same thing. */
const SAY_MS = 1000
const LOG_LINES = 20

/** Says one line of progress; `up` puts the elapsed time before it. */
export type Say = (line: string) => void

/** One thing that must hold before the stack is ready: `undefined` when it does, else what is seen instead. */
interface Condition {
  readonly part: Service
  readonly what: string
  readonly look: (state: StackState) => Promise<string | undefined>
}

const get = (url: string) => fetch(url, { redirect: "manual", signal: AbortSignal.timeout(REQUEST_MS) })

const answers =
  (part: Service, urlOf: (state: StackState) => string): Condition["look"] =>
  async (state) => {
    const report = await askControl(urlOf(state), state.secrets.control, REQUEST_MS)
    if (typeof report === "string") return report
    return report.service === part ? undefined : `${report.service} answers there`
  }

const discovers: Condition["look"] = async ({ urls }) => {
  const issuer = issuerOf(urls.idp, REALM.name)
  const discovery = await get(`${issuer}/.well-known/openid-configuration`)
  const told = (await discovery.json()) as { issuer?: unknown }
  if (told.issuer !== issuer) return "its discovery document names another issuer"
  const keys = (await (await get(`${issuer}${ENDPOINTS.keys}`)).json()) as { keys?: unknown }
  return Array.isArray(keys.keys) && keys.keys.length > 0 ? undefined : "it publishes no key"
}

/** What a caller without credentials must see on each kind of route. */
const CANARIES: Readonly<Record<RoutePolicy, ReadonlyArray<readonly [path: string, status: number]>>> = {
  "path-allow": [
    ["/allowed", 200],
    ["/secret", 403],
  ],
  "realm-jwt": [["/canary", 401]],
  "oidc-browser": [["/canary", 302]],
  "oidc-id-token": [["/canary", 401]],
  "oidc-access-token": [["/canary", 401]],
}

/** A path that no route has. With the Docker engine it is answered 503 until the plugin server is there. */
const NO_ROUTE = ["/", 404] as const

/** Requests after which a worker that none of them met is looked for again later. */
const MEETINGS_MAX = 40

/** Asks until every worker of the gateway has answered: each asks its plugin server on its own, and may fail on its own. */
const askWorkers = async (state: StackState, path: string, status: number): Promise<string | undefined> => {
  const workers = state.options.engine === "docker" ? WORKERS : 1
  const met = new Set<string>()
  for (let asked = 0; met.size < workers; asked++) {
    if (asked === MEETINGS_MAX) return `only ${met.size} of ${workers} workers answer`
    // Raw, because some runtimes' HTTP clients tell what they are, and a script is not sent to log in.
    const request = `GET ${path} HTTP/1.1\r\nHost: ${new URL(state.urls.proxy).host}\r\nConnection: close\r\n\r\n`
    const { statuses, head } = await sendRaw(state.urls.proxy, request)
    if (statuses !== String(status)) return `${path} answers ${statuses} instead of ${status}`
    met.add(/^x-portolan-worker: *(\d+)/im.exec(head)?.[1] ?? "")
  }
  return undefined
}

const refuses: Condition["look"] = async (state) => {
  const { gateway, variant } = state.options
  const routes = routesOf(gateway, variant).flatMap(({ prefix, policy }) =>
    CANARIES[policy].map(([path, status]) => [prefix + path, status] as const),
  )
  for (const [path, status] of [NO_ROUTE, ...routes]) {
    const instead = await askWorkers(state, path, status)
    if (instead !== undefined) return instead
  }
  return undefined
}

const CONDITIONS: ReadonlyArray<Condition> = [
  { part: "upstream", what: "answers", look: answers("upstream", ({ urls }) => urls.upstream) },
  { part: "idp", what: "publishes its realm", look: discovers },
  { part: "gateway", what: "refuses what it should and lets the rest through", look: refuses },
]

const seen = (look: Promise<string | undefined>): Promise<string | undefined> => look.catch(connectionFailure)

/**
 * Waits until the stack does what it is for.
 *
 * @param timeoutMs milliseconds over all conditions
 * @fails {StackFailed} naming the part, what it did last and its log, when a process ends or time is up
 */
export const waitUntilReady = Effect.fnUntraced(function* (
  home: string,
  state: StackState,
  timeoutMs: number,
  say: Say,
) {
  const deadline = (yield* Clock.currentTimeMillis) + timeoutMs
  for (const { part, what, look } of CONDITIONS) {
    const fail = (reason: string) =>
      new StackFailed({ part, reason, log: lastLines(stackFiles(home).log(part), LOG_LINES) })
    let saidAt = yield* Clock.currentTimeMillis
    for (;;) {
      const instead = yield* Effect.promise(() => seen(look(state)))
      if (instead === undefined) break
      if (state.processes.some((each) => each.service === part && !isRunning(each)))
        return yield* fail("its process has ended")
      const now = yield* Clock.currentTimeMillis
      if (now >= deadline) return yield* fail(`not ready: ${instead}`)
      if (now - saidAt >= SAY_MS) {
        saidAt = now
        say(`${part}: waiting (${instead})`)
      }
      yield* Effect.sleep(POLL_MS)
    }
    say(`${part}: ${what}`)
  }
})
