import { generateKeyPairSync, randomBytes } from "node:crypto"
import { resolve } from "node:path"
import { Clock, Effect } from "effect"
import { flagOf, type StackOptions } from "../domain/gateway/stack_options.ts"
import { projectOf, requireDocker, startContainers } from "./docker/docker_engine.ts"
import { startProcesses } from "./embedded_engine.ts"
import { StackRefused } from "./errors.ts"
import { LOOPBACK, probePort } from "./loopback.ts"
import { missingParts } from "./needed_packages.ts"
import { type Say, waitUntilReady } from "./readiness.ts"
import { REALM } from "./realm.ts"
import { withLock } from "./sqlite_lock.ts"
import { readState, removeState, type StackSecrets, type StackState, writeState } from "./state.ts"
import { inspect } from "./status.ts"
import { stopParts } from "./stop_parts.ts"

/** Milliseconds until a stack must be ready; containers start Java, and maybe a database. */
const READY_MS = { embedded: 60_000, docker: 180_000 } as const

const PORTS = ["proxyPort", "idpPort", "upstreamPort"] as const

const secret = (): string => randomBytes(24).toString("base64url")

const newSecrets = (): StackSecrets => ({
  control: secret(),
  userPassword: secret(),
  webClient: secret(),
  serviceClient: secret(),
  signingKey: {
    ...generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" }),
    kid: REALM.signingKeyId,
    alg: "RS256",
    use: "sig",
  },
})

/** Takes the ports, so that what is refused is refused before anything runs. */
const takePorts = Effect.fnUntraced(function* (options: StackOptions) {
  const taken: Array<readonly [(typeof PORTS)[number], number | undefined]> = []
  for (const name of PORTS) taken.push([name, yield* Effect.promise(() => probePort(options[name]))])
  const busy = taken.filter(([, port]) => port === undefined)
  if (busy.length > 0)
    return yield* new StackRefused({
      reasons: busy.map(([name]) => `port ${options[name]} is busy; choose another with ${flagOf(name)}`),
    })
  const withPorts: StackOptions = { ...options, ...Object.fromEntries(taken) }
  return withPorts
})

const isSame = (asked: StackOptions, running: StackOptions): boolean =>
  (Object.keys(asked) as Array<keyof StackOptions>).every(
    (name) =>
      // Port 0 asks for any port, and any port is what runs.
      JSON.stringify(asked[name]) === JSON.stringify(running[name]) ||
      (asked[name] === 0 && PORTS.some((each) => each === name)),
  )

/** What was found of an earlier `up`: nothing, or a stack that is as wanted; leftovers are cleared away. */
const existing = Effect.fnUntraced(function* (home: string, options: StackOptions, say: Say) {
  const state = readState(home)
  if (state === undefined) return undefined
  const found = yield* inspect(state)
  if (found.state === "healthy") {
    if (isSame(options, state.options)) return state
    return yield* new StackRefused({
      reasons: ["a stack with other options is running; run `portolan stack down` first"],
    })
  }
  const wrong = found.services.filter(({ healthy }) => !healthy).map(({ service }) => service)
  say(`an earlier stack is not whole (${wrong.join(", ") || state.phase}): starting again`)
  yield* stopParts(home, state)
  removeState(home)
  return undefined
})

/** Starts what the state describes; the state file is there already. */
const startParts = Effect.fnUntraced(function* (home: string, state: StackState, say: Say) {
  if (state.options.engine === "docker") {
    say("building and starting containers")
    yield* startContainers(home, state)
    return state
  }
  const processes = yield* startProcesses(home)
  say(`started ${processes.map(({ service, pid }) => `${service} (${pid})`).join(", ")}`)
  const started: StackState = { ...state, processes }
  return started
})

const start = Effect.fnUntraced(function* (home: string, asked: StackOptions, say: Say) {
  const reasons = missingParts(asked.engine)
  if (reasons.length > 0) return yield* new StackRefused({ reasons })
  if (asked.engine === "docker") yield* requireDocker
  const options = yield* takePorts(asked)
  const state: StackState = {
    version: 1,
    phase: "starting",
    options,
    startedAt: yield* Clock.currentTimeMillis,
    urls: {
      proxy: `http://${LOOPBACK}:${options.proxyPort}`,
      // The host name differs from the gateway's, because browsers tell cookies apart by host name and not by port.
      idp: `http://localhost:${options.idpPort}`,
      upstream: `http://${LOOPBACK}:${options.upstreamPort}`,
    },
    secrets: newSecrets(),
    processes: [],
    ...(options.engine === "docker" ? { project: projectOf(home) } : {}),
  }
  writeState(home, state)
  const degraded = (known: StackState) => Effect.sync(() => writeState(home, { ...known, phase: "degraded" }))
  const started = yield* startParts(home, state, say).pipe(Effect.tapError(() => degraded(state)))
  writeState(home, started)
  yield* waitUntilReady(home, started, READY_MS[options.engine], say).pipe(Effect.tapError(() => degraded(started)))
  const ready: StackState = { ...started, phase: "ready" }
  writeState(home, ready)
  return ready
})

/**
 * Brings the stack up, detached from this process, and returns when it refuses what it should.
 *
 * With the same options as a healthy stack's it changes nothing. Leftovers of an earlier stack are stopped and replaced.
 *
 * @param say one line of progress, with the seconds since the start before it
 * @fails {StackRefused} on a package or a Bun that is not installed, on busy ports, or another stack with other options; nothing is started
 * @fails {StackFailed} when a part does not become ready; the parts go on running and can be looked at, `down` stops them
 */
export const up = Effect.fn("stack.up")(function* (homeFolder: string, options: StackOptions, say: Say) {
  const home = resolve(homeFolder)
  const startedAt = yield* Clock.currentTimeMillis
  // The clock of a progress line is read when the line is said.
  const clock = yield* Clock.Clock
  const timed: Say = (line) =>
    say(`[${((clock.currentTimeMillisUnsafe() - startedAt) / 1000).toFixed(1).padStart(5)} s] ${line}`)
  return yield* withLock(
    home,
    Effect.gen(function* () {
      return (yield* existing(home, options, timed)) ?? (yield* start(home, options, timed))
    }),
  )
})
