/** Bytes read before the upstream is asked: a body that breaks within them never gets there. */
const READ_AHEAD = 64 * 1024

const concat = (chunks: ReadonlyArray<Uint8Array>): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.concat(chunks))

/**
 * The body of a request to forward.
 *
 * @returns nothing when there is none, a short body in one piece, a long one as a stream, or that it broke off at once
 */
export const readBody = async (
  request: Request,
): Promise<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | undefined | "broken"> => {
  const coding = request.headers.get("transfer-encoding")
  if (coding !== null && coding.toLowerCase() !== "chunked") return "broken"
  if (request.body === null) return undefined
  const reader = request.body.getReader()
  const ahead: Array<Uint8Array> = []
  let read = 0
  try {
    while (read < READ_AHEAD) {
      const next = await reader.read()
      if (next.done) return concat(ahead)
      ahead.push(next.value)
      read += next.value.length
    }
  } catch {
    return "broken"
  }
  return new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(concat(ahead)),
    pull: async (controller) => {
      const next = await reader.read()
      if (next.done) controller.close()
      else controller.enqueue(next.value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
}
