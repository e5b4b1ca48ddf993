import { Clock, Deferred, Effect, Stream } from "effect"
import { stringifyLossless } from "../../domain/scheduler/lossless_json.ts"
import type { EventBatch } from "../../domain/scheduler/scheduler_port.ts"
import { AgentJobs, AgentRefusal } from "./scripted_agent_jobs.ts"
import { type AgentRequest, minimumIndex, routesOf, waitOf } from "./scripted_agent_routes.ts"

interface AgentAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface ScriptedAgentOptions {
  /** With a token every request needs it. */
  readonly token?: string
  /** How long an allocation takes to run, milliseconds; 0 when omitted. */
  readonly startMs?: number
}

/** An agent that lives in memory. It answers as a real one does, status, headers and texts included. */
export interface ScriptedAgent {
  readonly handle: (request: AgentRequest) => Effect.Effect<AgentAnswer>
  /** The event stream's lines, heartbeats included; endless. */
  readonly eventLines: (query: URLSearchParams) => Stream.Stream<string>
  readonly nodeId: string
}

const NODE_ID = "61c6fdd8-1125-4000-8000-e06a23b33902"
const HEARTBEAT = "30 seconds"

const text = (status: number, body: string): AgentAnswer => ({
  status,
  headers: { "content-type": "text/plain; charset=utf-8" },
  body,
})

/** Makes an agent with no jobs. */
export const makeScriptedAgent = (options: ScriptedAgentOptions = {}): ScriptedAgent => {
  const jobs = new AgentJobs()
  const routes = routesOf(jobs, { nodeId: NODE_ID, startMs: options.startMs ?? 0 })
  let changed = Deferred.makeUnsafe<void>()
  const announce = (): void => {
    const before = changed
    changed = Deferred.makeUnsafe()
    Deferred.doneUnsafe(before, Effect.void)
  }

  const answerOnce = (request: AgentRequest, nowMs: number): AgentAnswer & { readonly index: number } => {
    const path = decodeURIComponent(request.path)
    const candidates = routes.filter((each) => each.path.test(path))
    const route = candidates.find((each) => each.method.test(request.method))
    if (route === undefined)
      return {
        ...(candidates.length === 0 ? { status: 404, headers: {}, body: "" } : text(405, "Invalid method")),
        index: 0,
      }
    const { value, index, read } = route.answer(route.path.exec(path)?.[1] ?? "", request, nowMs)
    return {
      status: 200,
      headers: {
        "content-type": "application/json",
        ...(index === undefined ? {} : { "x-nomad-index": String(index) }),
        ...(read ? { "x-nomad-knownleader": "true", "x-nomad-lastcontact": "0" } : {}),
      },
      body: stringifyLossless(value),
      index: read && index !== undefined ? index : Number.POSITIVE_INFINITY,
    }
  }

  /** Answers at once, or, for a blocking query, when there is something newer. */
  const answer = Effect.fnUntraced(function* (request: AgentRequest) {
    const minimum = minimumIndex(request.query.get("index"))
    const waitMs = waitOf(request.query.get("wait"))
    const deadline = (yield* Clock.currentTimeMillis) + waitMs
    for (;;) {
      const nowMs = yield* Clock.currentTimeMillis
      const next = Deferred.await(changed)
      const { index, ...found } = answerOnce(request, nowMs)
      if (minimum === 0 || index > minimum || nowMs >= deadline) {
        if (request.method !== "GET") announce()
        return found
      }
      yield* Effect.timeoutOption(next, deadline - nowMs)
    }
  })

  const handle = (request: AgentRequest): Effect.Effect<AgentAnswer> => {
    if (options.token !== undefined && request.token !== options.token)
      return Effect.succeed(text(403, "Permission denied"))
    const region = request.query.get("region") ?? ""
    if (region !== "" && region !== "global") return Effect.succeed(text(500, "No path to region"))
    return Effect.suspend(() => answer(request)).pipe(
      Effect.catchDefect((failure) =>
        failure instanceof AgentRefusal ? Effect.succeed(text(failure.status, failure.message)) : Effect.die(failure),
      ),
    )
  }

  const eventLines = (query: URLSearchParams): Stream.Stream<string> => {
    const filters = query.getAll("topic").map((filter) => filter.split(":", 2))
    const wanted = (batch: EventBatch): boolean =>
      filters.length === 0 ||
      batch.Events.some(({ Topic, Key }) =>
        filters.some(([topic = "*", key = "*"]) => (topic === "*" || topic === Topic) && (key === "*" || key === Key)),
      )
    let next = Number(query.get("index") ?? 0)
    const nextLines = Effect.suspend(() => {
      const batches = jobs.events.filter((batch) => Number(batch.Index) >= next)
      next = Math.max(next, ...batches.map((batch) => Number(batch.Index) + 1))
      const lines = batches.filter(wanted).map((batch) => `${stringifyLossless(batch)}\n`)
      return lines.length > 0
        ? Effect.succeed(lines)
        : Effect.as(Effect.timeoutOption(Deferred.await(changed), HEARTBEAT), ["{}\n"])
    })
    return Stream.fromEffectRepeat(nextLines).pipe(Stream.flatMap(Stream.fromIterable))
  }

  return { handle, eventLines, nodeId: NODE_ID }
}
