import { Context, type Effect } from "effect"
import type { Container } from "./container.ts"
import type { FailureKind, GraphFailure } from "./graph_failure.ts"

/** A harmless question about what the platform's documents leave open: a container nobody sees, or a read. */
export type ProbeQuestion =
  /** Creates a container, however long the request becomes. */
  | { readonly ask: "create"; readonly container: Container }
  /** Reads the account in a request made longer by so many bytes. */
  | { readonly ask: "long-read"; readonly paddingBytes: number }
  /** Reads the states of several containers in one call. */
  | { readonly ask: "states"; readonly containerIds: ReadonlyArray<string> }

/** What the graph answered; a refusal is an answer too. */
export interface ProbeAnswer {
  readonly status: number
  readonly kind: FailureKind | "Accepted"
  /** The platform's own `code` and `error_subcode`. */
  readonly graphCode?: number
  readonly subcode?: number
  /** The platform's words, scrubbed of secrets. */
  readonly text?: string
  /** Id of what was created or read, when the answer names one. */
  readonly id?: string
}

/**
 * Driven port: asks the real graph questions whose refusal is as welcome as their success (`portolan media probe`).
 *
 * One question is one exchange, as in `MediaGraphPort`.
 */
export class GraphProbe extends Context.Service<
  GraphProbe,
  {
    /** @fails {GraphFailure} of operation `probe` when no answer came at all, or no token is at hand */
    readonly ask: (accountId: string, question: ProbeQuestion) => Effect.Effect<ProbeAnswer, GraphFailure>
  }
>()("portolan/domain/media/GraphProbe") {}
