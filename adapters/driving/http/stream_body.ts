import { Data, Effect, Exit, type Fiber } from "effect"

/** How long a client may leave what was sent to it unread, seconds. */
const PATIENCE_S = 30

/** The client does not read what it asked for. */
export class SlowReader extends Data.TaggedError("SlowReader") {
  override get message(): string {
    return `A client read nothing of its stream for ${PATIENCE_S} s; the stream was ended`
  }
}

/** Sends a text; succeeds once there is room for the next one, so that nothing is gathered for a client that does not read. */
export type Send = (text: string) => Effect.Effect<void, SlowReader>

const utf8 = new TextEncoder()

/**
 * A body whose pieces come from a running program. It ends with the program, and the program is interrupted when the client
 * goes away. When the program fails, the connection breaks: the client sees that the body is not whole.
 *
 * @param start begins the program, which calls `send` for one text after the other
 */
export const streamBody = (start: (send: Send) => Fiber.Fiber<void, unknown>): ReadableStream<Uint8Array> => {
  let hasRoom = () => {}
  let fiber: Fiber.Fiber<void, unknown> | undefined
  let ended = false
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      const room = Effect.callback<void>((resume) => {
        hasRoom = () => resume(Effect.void)
      })
      const send: Send = (text) =>
        Effect.suspend(() => {
          if (ended) return Effect.interrupt
          controller.enqueue(utf8.encode(text))
          if ((controller.desiredSize ?? 0) > 0) return Effect.void
          return Effect.timeoutOrElse(room, {
            duration: `${PATIENCE_S} seconds`,
            orElse: () => Effect.fail(new SlowReader()),
          })
        })
      fiber = start(send)
      fiber.addObserver((exit) => {
        if (!ended && Exit.isSuccess(exit)) controller.close()
        else if (!ended) controller.error(new Error("The body is not whole"))
        ended = true
      })
    },
    pull: () => hasRoom(),
    cancel: () => {
      ended = true
      fiber?.interruptUnsafe()
    },
  })
}
