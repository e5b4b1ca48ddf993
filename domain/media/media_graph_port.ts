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

export interface ContainerStatus {
  readonly containerId: string
  readonly state: ContainerState
  /** The platform's own words, scrubbed. */
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

/** A creation's exact request with its secrets masked; nothing was sent. */
export interface RequestPreview {
  readonly method: "POST"
  /** Path and query, percent-encoded as sent, masked values as `<redacted>`. */
  readonly target: string
  /** Length of the real target, token included, bytes. */
  readonly targetBytes: number
  /** Form body, masked likewise, when parameters travel as a form. */
  readonly body?: string
}

export interface CreationCall {
  /** Media account id, digits or `me`. */
  readonly accountId: string
  readonly container: Container
}

/** A harmless question of `portolan media probe`; its answer is read as it comes, refusals included. */
export interface ProbeCall {
  readonly method: "GET" | "POST"
  /** Path behind the API version, without leading `/`. */
  readonly path: string
  readonly parameters: ReadonlyArray<readonly [name: string, value: string]>
}

export interface ProbeAnswer {
  readonly status: number
  readonly kind: GraphFailure["kind"] | "Accepted"
  readonly graphCode?: number
  readonly subcode?: number
  readonly text?: string
  readonly id?: string
}

/**
 * Driven port: the social media graph (seed area D).
 *
 * One call is one exchange: nothing is retried, paced or followed by an adapter, and no failure holds a secret.
 */
export class MediaGraphPort extends Context.Service<
  MediaGraphPort,
  {
    /** Creates a container and gives its id (digits, beyond 2^53: text). */
    readonly createContainer: (
      call: CreationCall,
    ) => Effect.Effect<GraphAnswer<string>, GraphFailure | RequestTargetTooLong>
    readonly readContainer: (containerId: string) => Effect.Effect<GraphAnswer<ContainerStatus>, GraphFailure>
    /** Publishes a finished container and gives the media id, which is another one. Has no idempotency key. */
    readonly publishContainer: (call: {
      readonly accountId: string
      readonly containerId: string
    }) => Effect.Effect<GraphAnswer<string>, GraphFailure>
    readonly readPublishingLimit: (accountId: string) => Effect.Effect<GraphAnswer<PublishingLimit>, GraphFailure>
    /** Exchanges the app's id and secret for an app token (seed 4.6); it is not accepted for media. */
    readonly requestAppToken: (app: {
      readonly appId: string
      readonly appSecret: Redacted.Redacted
    }) => Effect.Effect<GraphAnswer<Redacted.Redacted>, GraphFailure>
    /** The request {@link createContainer} would send. */
    readonly preview: (call: CreationCall) => Effect.Effect<RequestPreview, RequestTargetTooLong>
    readonly probe: (call: ProbeCall) => Effect.Effect<ProbeAnswer, GraphFailure>
  }
>()("portolan/domain/media/MediaGraphPort") {}
