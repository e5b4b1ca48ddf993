import { Effect, Schedule, Stream } from "effect"
import { isPassing, SchedulerConnectionLost, type SchedulerError } from "../../../domain/scheduler/errors.ts"
import type { EventBatch, EventSubscription } from "../../../domain/scheduler/scheduler_port.ts"
import { type AgentConnection, callOf } from "./agent_connection.ts"
import { readEventLine } from "./scheduler_answers.ts"
import { events, type SchedulerRequest } from "./scheduler_requests.ts"

/** Agents send a heartbeat every 30 seconds: an event stream that is silent for two of them is dead. */
const SILENCE = "75 seconds"

/** Pause before an event stream is opened again after its end: 0.25 s, doubling up to 15 s, from the start after each event. */
const RECONNECT = Schedule.min([Schedule.exponential("250 millis"), Schedule.spaced("15 seconds")]).pipe(
  Schedule.jittered,
  Schedule.setInputType<SchedulerError>(),
  Schedule.while(({ input }) => isPassing(input)),
)

/** One connection of an event stream. The agent never ends it by itself: an end, and silence, is a lost connection. */
const onceFrom = (agent: AgentConnection, request: SchedulerRequest): Stream.Stream<EventBatch, SchedulerError> => {
  const lost = Stream.suspend(() => Stream.fail(new SchedulerConnectionLost({ ...callOf(request), applied: "no" })))
  return Stream.unwrap(agent.open(request)).pipe(
    Stream.timeoutOrElse({ duration: SILENCE, orElse: () => lost }),
    Stream.decodeText,
    Stream.splitLines,
    Stream.filter((line) => line.trim() !== ""),
    Stream.mapEffect((line) => {
      const reading = readEventLine(line)
      return "rule" in reading
        ? Effect.fail(agent.unreadable(request, { status: 200, text: line }, reading.rule))
        : Effect.succeed(reading.value)
    }),
    Stream.filter((batch) => batch !== undefined),
    Stream.concat(lost),
  )
}

/**
 * The agent's events, over as many connections as it takes: each starts at the index after the last event.
 *
 * @fails {SchedulerError} when opening it again cannot help
 */
export const eventsFrom = (
  agent: AgentConnection,
  subscription: EventSubscription,
): Stream.Stream<EventBatch, SchedulerError> =>
  Stream.suspend(() => {
    let index = subscription.index ?? 0
    return Stream.suspend(() => onceFrom(agent, events({ ...subscription, index }))).pipe(
      Stream.map((batch) => {
        index = BigInt(batch.Index) + 1n
        return batch
      }),
      Stream.retry(RECONNECT),
    )
  })
