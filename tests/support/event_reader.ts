// Reads server-sent events as a browser does (html.spec.whatwg.org, section 9.2.6), as far as the feeds of changes need it.

/** One block of an event stream. */
export interface ReadEvent {
  readonly event?: string
  readonly id?: string
  readonly data?: unknown
  readonly retry?: string
}

/** A stream that is being read. */
export interface EventReader {
  /** The next blocks that are no comment; fewer when the stream ends before. */
  readonly take: (count: number) => Promise<ReadonlyArray<ReadEvent>>
  /** Resolves at the end of the stream, whatever comes before it. */
  readonly ended: () => Promise<void>
  /** Goes away, as a client does. */
  readonly cancel: () => Promise<void>
}

const parse = (block: string): ReadEvent =>
  Object.fromEntries(
    block.split("\n").map((line) => {
      const name = line.slice(0, line.indexOf(":"))
      const value = line.slice(line.indexOf(":") + 2)
      return [name, name === "data" ? JSON.parse(value) : value]
    }),
  )

export const readEvents = (response: Response): EventReader => {
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream()).getReader()
  let text = ""
  let done = false
  const more = async () => {
    const read = await reader.read()
    done = read.done
    text += read.value ?? ""
  }
  const next = async (): Promise<ReadEvent | undefined> => {
    for (;;) {
      const end = text.indexOf("\n\n")
      if (end >= 0) {
        const block = text.slice(0, end)
        text = text.slice(end + 2)
        if (!block.startsWith(":")) return parse(block)
      } else if (done) return undefined
      else await more()
    }
  }
  return {
    take: async (count) => {
      const events: Array<ReadEvent> = []
      while (events.length < count) {
        const event = await next()
        if (event === undefined) break
        events.push(event)
      }
      return events
    },
    ended: async () => {
      while (!done) await more()
    },
    cancel: () => reader.cancel(),
  }
}
