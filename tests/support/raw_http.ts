// HTTP as bytes over a socket: what `fetch` would tidy up before sending.
import { connect, type Socket } from "node:net"

export interface RawResponse {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** Parses the responses a connection gave, in order; bodies by Content-Length. */
const parseResponses = (received: Buffer): ReadonlyArray<RawResponse> => {
  const responses: Array<RawResponse> = []
  let rest = received
  for (;;) {
    const end = rest.indexOf("\r\n\r\n")
    if (end < 0) return responses
    const [statusLine = "", ...lines] = rest.subarray(0, end).toString("latin1").split("\r\n")
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(":")
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
      }),
    )
    const length = Number(headers.get("content-length") ?? 0)
    if (rest.length < end + 4 + length) return responses
    const body = rest.subarray(end + 4, end + 4 + length)
    responses.push({ status: Number(statusLine.split(" ")[1]), headers, body: body.toString("utf8") })
    rest = rest.subarray(end + 4 + length)
  }
}

/** An open connection to the service. */
export interface RawConnection {
  readonly socket: Socket
  readonly write: (data: string | Uint8Array) => void
  /** Resolves once this many responses are complete, or the peer closed. */
  readonly responses: (count: number) => Promise<ReadonlyArray<RawResponse>>
  /** Everything that came so far. */
  readonly received: () => string
  /** Resolves when the peer closes the connection. */
  readonly closed: Promise<void>
}

export const openConnection = (url: string): Promise<RawConnection> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port) })
    let received: Buffer = Buffer.alloc(0)
    let ended = false
    let changed = () => {}
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      changed()
    })
    const closed = new Promise<void>((done) => {
      socket.on("close", () => {
        ended = true
        changed()
        done()
      })
    })
    socket.on("error", reject)
    socket.on("connect", () =>
      resolve({
        socket,
        closed,
        received: () => received.toString("utf8"),
        write: (data) => socket.write(data),
        responses: async (count) => {
          while (parseResponses(received).length < count && !ended)
            await new Promise<void>((next) => {
              changed = next
            })
          return parseResponses(received)
        },
      }),
    )
  })

/** Sends bytes on a connection of its own and gives the first response. */
export const rawRequest = async (url: string, data: string | Uint8Array): Promise<RawResponse | undefined> => {
  const connection = await openConnection(url)
  connection.write(data)
  const [response] = await connection.responses(1)
  connection.socket.destroy()
  return response
}
