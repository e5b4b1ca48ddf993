import type { IncomingMessage } from "node:http"
import { type GatewayRequest, headerValue } from "../../domain/gateway/gateway_request.ts"

/** Bytes read before the upstream is asked: a body that breaks within them never gets there. */
const READ_AHEAD = 64 * 1024

const concat = (chunks: ReadonlyArray<Uint8Array>): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.concat(chunks))

/**
 * The body of a request to forward.
 *
 * @returns nothing when there is none, a short body in one piece, a long one as a stream, or that it broke off at once
 */
export const readBody = async (
  incoming: IncomingMessage,
  request: GatewayRequest,
): Promise<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | undefined | "broken"> => {
  const coding = headerValue(request, "transfer-encoding")
  const length = headerValue(request, "content-length")
  if (coding === undefined && (length === undefined || length === "0")) return undefined
  if (coding !== undefined && coding.toLowerCase() !== "chunked") return "broken"
  const chunks = incoming[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  const ahead: Array<Uint8Array> = []
  let read = 0
  try {
    while (read < READ_AHEAD) {
      const next = await chunks.next()
      if (next.done === true) return incoming.complete ? concat(ahead) : "broken"
      ahead.push(next.value)
      read += next.value.length
    }
  } catch {
    return "broken"
  }
  return new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(concat(ahead)),
    pull: async (controller) => {
      const next = await chunks.next()
      if (next.done !== true) controller.enqueue(next.value)
      else if (incoming.complete) controller.close()
      else controller.error(new Error("the request broke off"))
    },
    cancel: () => void incoming.destroy(),
  })
}
