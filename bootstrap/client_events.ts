// Server-sent events over `fetch`: the browser's own EventSource cannot send a token. (html.spec.whatwg.org, section 9.2.6)

/** One event, or a block that has only an id. */
export interface ServerEvent {
  readonly event: string
  readonly id: string
  readonly data: string
}

/** Most characters of one event that has not ended: a record has at most 1 MiB. */
const EVENT_LENGTH_MAX = 4 * 1024 * 1024

const parse = (block: string): ServerEvent | undefined => {
  const fields = { event: "", id: "", data: "" }
  let known = false
  for (const line of block.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(":")
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "")
    if (name !== "event" && name !== "id" && name !== "data") continue
    known = true
    fields[name] = name === "data" && fields.data !== "" ? `${fields.data}\n${value}` : value
  }
  return known ? fields : undefined
}

/**
 * The events of a body, as they come.
 *
 * @throws what reading the body throws
 */
export async function* readServerEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ""
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      text += decoder.decode(value, { stream: true })
      for (;;) {
        const end = /\r\n\r\n|\n\n|\r\r/.exec(text)
        if (end === null) break
        const event = parse(text.slice(0, end.index))
        text = text.slice(end.index + end[0].length)
        if (event !== undefined) yield event
      }
      if (text.length > EVENT_LENGTH_MAX) throw new Error("An event of the stream does not end")
    }
  } finally {
    // The client went on to something else, or the stream has ended already.
    await reader.cancel().catch(() => {})
  }
}
