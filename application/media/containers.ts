import { Clock, Effect, Redacted } from "effect"
import type { Container, MediaKind } from "../../domain/media/container.ts"
import type { MediaIssue } from "../../domain/media/errors.ts"
import { checkIds, checkSecret } from "../../domain/media/graph_address.ts"
import { MediaGraphPort } from "../../domain/media/media_graph_port.ts"
import { MediaPolicy } from "../../domain/media/policy.ts"
import { checkContainer } from "../../domain/media/validation.ts"
import { repeatable } from "./repeatable_call.ts"

/** A container that was created. */
export interface CreatedContainer {
  readonly containerId: string
  readonly kind: MediaKind
  /** Milliseconds since the epoch; it lives 24 hours unless published. */
  readonly createdAtMs: number
  /** What is doubtful about it; it was created all the same. */
  readonly warnings: ReadonlyArray<MediaIssue>
}

/** Sends one checked creation. Repeating it leaves at most an orphan nobody sees, which expires. */
export const sendCreation = Effect.fnUntraced(function* (accountId: string, container: Container) {
  const graph = yield* MediaGraphPort
  return yield* repeatable(accountId, "create", graph.createContainer({ accountId, container }))
})

/**
 * Creates one container of any kind (specification 4.5); also for input of an untrusted caller.
 *
 * @fails {InvalidMedia} naming fields and rules; nothing was sent
 * @fails {RequestTargetTooLong} when the query would be longer than servers read; nothing was sent
 * @fails {GraphFailure} when the graph refuses, fails repeatedly or does not answer
 */
export const createContainer = Effect.fn("createContainer")(function* (accountId: string, input: unknown) {
  yield* checkIds({ accountId })
  const createdAtMs = yield* Clock.currentTimeMillis
  const { value, warnings } = yield* checkContainer(input, yield* MediaPolicy, createdAtMs)
  const containerId = yield* sendCreation(accountId, value)
  const created: CreatedContainer = { containerId, kind: value.kind, createdAtMs, warnings }
  return created
})

/**
 * Reads a container's state once.
 *
 * @fails {GraphFailure} of kind StatusUnavailable during a known outage; it says nothing about the token
 */
export const containerStatus = Effect.fn("containerStatus")(function* (containerId: string) {
  yield* checkIds({ containerId })
  const graph = yield* MediaGraphPort
  return yield* repeatable("", "status", graph.readContainer(containerId))
})

/** Reads how much of the account's publish quota is used. */
export const publishingLimit = Effect.fn("publishingLimit")(function* (accountId: string) {
  yield* checkIds({ accountId })
  const graph = yield* MediaGraphPort
  return yield* repeatable(accountId, "limit", graph.readPublishingLimit(accountId))
})

/**
 * Exchanges an app id and secret for an app token (specification 4.6). The graph does not accept it for media.
 *
 * @fails {InvalidMediaSetup} when id or secret is blank
 * @fails {GraphFailure} of kind TokenInvalid when the graph does not accept them
 */
export const requestAppToken = Effect.fn("requestAppToken")(function* (app: {
  readonly appId: string
  readonly appSecret: Redacted.Redacted
}) {
  yield* checkSecret("appId", app.appId)
  yield* checkSecret("appSecret", Redacted.value(app.appSecret))
  const graph = yield* MediaGraphPort
  return yield* repeatable("", "app-token", graph.requestAppToken(app))
})
