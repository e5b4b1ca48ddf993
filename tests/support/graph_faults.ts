// What may happen to a call of the graph, in tests that fail at every step.
import type { Fault, ModelAnswer } from "./graph_model.ts"
import { graphError, unavailable } from "./media_world.ts"

const answered = (answer: ModelAnswer, applied = false): Fault => ({ kind: "answer", answer, applied })

const UNCLEAR = [unavailable, graphError(400, 2, undefined, { is_transient: true }), graphError(400, 424242, 999)]

/** Lost or unclear: the graph may have acted. */
export const OPEN_FAULTS: ReadonlyArray<Fault> = [
  { kind: "lose-request" },
  { kind: "lose-answer" },
  ...[...UNCLEAR, { status: 200, body: '{"id":"178' }].flatMap((each) => [answered(each), answered(each, true)]),
]

/** The graph says that it did nothing. */
export const REFUSALS: ReadonlyArray<Fault> = [
  answered({ ...graphError(400, 4), headers: { "retry-after": "7" } }),
  ...[graphError(400, 9007, 2207027), graphError(400, 24, 2207008), graphError(400, 190, 463)].map((each) =>
    answered(each),
  ),
]

/** A status that cannot be read now. */
export const OUTAGES: ReadonlyArray<Fault> = [answered(graphError(400, 100, 33)), answered(unavailable)]

/** Live, and called blocked: seen in the wild. */
export const BLOCKED_AND_LIVE: Fault = answered(graphError(400, 4, 2207051), true)
