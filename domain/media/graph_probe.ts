import { Context, type Effect } from "effect"
import type { Container } from "./container.ts"
import type { GraphFailure } from "./graph_failure.ts"

/** A harmless question about what the platform's documents leave open: a container nobody sees, or a read. */
export type ProbeQuestion =
  /** Creates a container, however long the request becomes. */
  | { readonly ask: "create"; readonly container: Container }
  /** Reads the account in a request made longer by so many bytes. */
  | { readonly ask: "long-read"; readonly paddingBytes: number }
  /** Reads the states of several containers in one call. */
  | { readonly ask: "states"; readonly containerIds: ReadonlyArray<string> }

/** Driven port: questions to the real graph whose refusal is as welcome as their success (`portolan media probe`). */
export class GraphProbe extends Context.Service<
  GraphProbe,
  {
    /**
     * Asks once, in one exchange.
     *
     * @returns the id in the answer, of what was created or read; `undefined` when it names none
     * @fails {GraphFailure} of operation `probe`; it has a `status` when the graph answered with a refusal
     */
    readonly ask: (accountId: string, question: ProbeQuestion) => Effect.Effect<string | undefined, GraphFailure>
  }
>()("portolan/domain/media/GraphProbe") {}
