// A local HTTP server for as long as a scope is open. Works under Bun, Deno and Node.
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, type Scope } from "effect"

export interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** A request as it arrived. */
export interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

export interface LocalServer {
  /** `http://127.0.0.1:<port>`, without a trailing slash. */
  readonly url: string
  /** Requests so far. */
  readonly seen: ReadonlyArray<Seen>
}

/** `undefined` when the caller went away in the middle. */
const bodyOf = async (request: IncomingMessage): Promise<string | undefined> => {
  const chunks: Array<Uint8Array> = []
  try {
    for await (const chunk of request) chunks.push(chunk)
  } catch {
    return undefined
  }
  return Buffer.concat(chunks).toString("utf8")
}

/** @param answer what to say to each request; `undefined` never answers, `drop` ends the connection without an answer */
export const localServer = (
  answer: (request: Seen) => Answer | "drop" | undefined | Promise<Answer | "drop" | undefined>,
): Effect.Effect<LocalServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const seen: Array<Seen> = []
      const server = createServer(async (request, response) => {
        const body = await bodyOf(request)
        if (body === undefined) return
        const arrived: Seen = { method: request.method ?? "", path: request.url ?? "", headers: request.headers, body }
        seen.push(arrived)
        const said = await answer(arrived)
        if (said === undefined) return
        if (said === "drop") {
          request.socket.destroy()
          return
        }
        response.writeHead(said.status ?? 200, { "content-type": "application/json", ...said.headers })
        response.end(said.body ?? "")
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const { port } = server.address() as AddressInfo
      return { url: `http://127.0.0.1:${port}`, seen, server }
    }),
    ({ server }) =>
      Effect.promise(async () => {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      }),
  )
