import { Clock, Effect, Layer, Redacted } from "effect"
import type { Container } from "../../../domain/media/container.ts"
import { type FailureKind, GraphFailure, type GraphOperation } from "../../../domain/media/graph_failure.ts"
import { type ContainerState, type GraphAnswer, MediaGraphPort } from "../../../domain/media/media_graph_port.ts"
import { CONTAINER_LIFETIME_MS } from "../../../domain/media/policy.ts"

/** How the graph in memory behaves. */
export interface MemoryGraphOptions {
  /** Processing time of a video or reel, ms; 0 when omitted. Pictures and carousels are ready at once. */
  readonly processingMs?: number
  /** Posts of an account in 24 hours; 50 when omitted. */
  readonly quotaTotal?: number
}

interface KeptContainer {
  readonly accountId: string
  readonly container: Container
  readonly createdAtMs: number
  publishedAtMs: number | undefined
}

const DAY_S = 86_400

const answered = <A>(value: A): Effect.Effect<GraphAnswer<A>> => Effect.succeed({ value, usage: {} })

const refused = (operation: GraphOperation, kind: FailureKind): Effect.Effect<never, GraphFailure> =>
  Effect.fail(new GraphFailure({ kind, operation, applied: "no" }))

const isItem = (container: Container): boolean => "isCarouselItem" in container && container.isCarouselItem === true

const make = ({ processingMs = 0, quotaTotal = 50 }: MemoryGraphOptions) => {
  const containers = new Map<string, KeptContainer>()
  let lastId = 17_900_000_000_000_000n
  // 17 digits, more than a double holds, as the platform's ids are.
  const nextId = (): string => String(++lastId)

  const stateOf = ({ container, createdAtMs, publishedAtMs }: KeptContainer, nowMs: number): ContainerState => {
    if (publishedAtMs !== undefined) return "published"
    if (nowMs - createdAtMs >= CONTAINER_LIFETIME_MS) return "expired"
    return "videoUrl" in container && nowMs - createdAtMs < processingMs ? "in-progress" : "finished"
  }

  const postsOfDay = (accountId: string, nowMs: number): number =>
    [...containers.values()]
      .filter((each) => each.accountId === accountId)
      .filter(({ publishedAtMs }) => publishedAtMs !== undefined && nowMs - publishedAtMs < DAY_S * 1000).length

  /** Why the platform refuses a carousel of these children, if it does. */
  const childrenFailure = (children: ReadonlyArray<string>, nowMs: number): FailureKind | undefined => {
    const found = children.flatMap((id) => containers.get(id) ?? [])
    if (found.length < children.length || !found.every(({ container }) => isItem(container))) return "InvalidInput"
    return found.some((each) => stateOf(each, nowMs) === "in-progress") ? "NotReady" : undefined
  }

  /** Why the platform refuses to publish a container, if it does. */
  const publishFailure = (accountId: string, kept: KeptContainer, nowMs: number): FailureKind | undefined => {
    const state = stateOf(kept, nowMs)
    if (state === "in-progress") return "NotReady"
    if (state !== "finished" || kept.accountId !== accountId) return "ContainerGone"
    // The platform publishes a video as a reel only.
    if (kept.container.kind === "video") return "InvalidInput"
    return postsOfDay(accountId, nowMs) >= quotaTotal ? "DailyQuota" : undefined
  }

  return MediaGraphPort.of({
    createContainer: Effect.fnUntraced(function* ({ accountId, container }) {
      const nowMs = yield* Clock.currentTimeMillis
      const failure = container.kind === "carousel" ? childrenFailure(container.children, nowMs) : undefined
      if (failure !== undefined) return yield* refused("create", failure)
      const id = nextId()
      containers.set(id, { accountId, container, createdAtMs: nowMs, publishedAtMs: undefined })
      return yield* answered(id)
    }),
    readContainer: Effect.fnUntraced(function* (containerId) {
      const kept = containers.get(containerId)
      if (kept === undefined) return yield* refused("status", "StatusUnavailable")
      return yield* answered({ containerId, state: stateOf(kept, yield* Clock.currentTimeMillis) })
    }),
    publishContainer: Effect.fnUntraced(function* ({ accountId, containerId }) {
      const nowMs = yield* Clock.currentTimeMillis
      const kept = containers.get(containerId)
      if (kept === undefined) return yield* refused("publish", "ContainerGone")
      const failure = publishFailure(accountId, kept, nowMs)
      if (failure !== undefined) return yield* refused("publish", failure)
      kept.publishedAtMs = nowMs
      return yield* answered(nextId())
    }),
    readPublishingLimit: (accountId) =>
      Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
        answered({ used: postsOfDay(accountId, nowMs), total: quotaTotal, periodS: DAY_S }),
      ),
    requestAppToken: ({ appId, appSecret }) =>
      appId === "" || Redacted.value(appSecret) === ""
        ? refused("app-token", "TokenInvalid")
        : answered(Redacted.make(`${appId}|app-token-in-memory`)),
  })
}

/** The graph in this process, on the clock of its callers. It keeps what it was given until the layer ends. */
export const layer = (options: MemoryGraphOptions = {}): Layer.Layer<MediaGraphPort> =>
  Layer.sync(MediaGraphPort, () => make(options))
