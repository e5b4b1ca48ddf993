/** Bytes read before the upstream is asked: a body that breaks within them never gets there. */
const READ_AHEAD = 64 * 1024

const concat = (chunks: ReadonlyArray<Uint8Array>): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.concat(chunks))

/**
 * Reads the beginning of a body that is still arriving.
 *
 * @returns a short body in one piece, a long one as a stream, or that it broke off at once
 */
export const readAhead = async (
  body: ReadableStream<Uint8Array>,
): Promise<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | "broken"> => {
  const reader = body.getReader()
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
