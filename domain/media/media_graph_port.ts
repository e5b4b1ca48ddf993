import { Context, type Effect, type Redacted } from "effect"
import type { Container } from "./container.ts"
import type { RequestTargetTooLong } from "./errors.ts"
import type { GraphFailure } from "./graph_failure.ts"
import type { Usage } from "./usage.ts"

/** An answer and what it says about the platform's budget. */
export interface GraphAnswer<A> {
  readonly value: A
  readonly usage: Usage
}

/** Processing states of a container; `unknown` is a state this client does not know. */
export type ContainerState = "in-progress" | "finished" | "error" | "expired" | "published" | "unknown"

/** What the graph says about a container. */
export interface ContainerStatus {
  readonly containerId: string
  readonly state: ContainerState
  /** The platform's own words, scrubbed of secrets. */
  readonly detail?: string
  /** The error number in those words, when there is one. */
  readonly subcode?: number
}

/** Posts published in the rolling period, read from the platform because its documents contradict each other. */
export interface PublishingLimit {
  readonly used: number
  /** `undefined` when the platform does not say. */
  readonly total?: number
  /** Length of the period, seconds. */
  readonly periodS?: number
}

/** A container to create, and for whom. */
export interface CreationCall {
  /** Media account id, digits or `me`. */
  readonly accountId: string
  readonly container: Container
}

/**
 * Driven port: the social media graph (specification 1, area D).
 *
 * One call is one exchange: nothing is retried, paced or followed by an adapter, and no failure holds a secret.
 */
export class MediaGraphPort extends Context.Service<
  MediaGraphPort,
  {
    /** Creates a container and gives its id: digits, kept as text because they exceed 2^53. */
    readonly createContainer: (
      call: CreationCall,
    ) => Effect.Effect<GraphAnswer<string>, GraphFailure | RequestTargetTooLong>
    /** Reads a container's state; one that is not known fails with kind StatusUnavailable. */
    readonly readContainer: (containerId: string) => Effect.Effect<GraphAnswer<ContainerStatus>, GraphFailure>
    /** Publishes a finished container and gives the media id, which is another one. Has no idempotency key. */
    readonly publishContainer: (call: {
      readonly accountId: string
      readonly containerId: string
    }) => Effect.Effect<GraphAnswer<string>, GraphFailure>
    /** Reads how much of the account's publish quota is used. */
    readonly readPublishingLimit: (accountId: string) => Effect.Effect<GraphAnswer<PublishingLimit>, GraphFailure>
    /** Exchanges the app's id and secret for an app token (specification 4.6); it is not accepted for media. */
    readonly requestAppToken: (app: {
      readonly appId: string
      readonly appSecret: Redacted.Redacted
    }) => Effect.Effect<GraphAnswer<Redacted.Redacted>, GraphFailure>
  }
>()("portolan/domain/media/MediaGraphPort") {}
