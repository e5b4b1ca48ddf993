import type { ServerResponse } from "node:http"
import type { Header } from "../../domain/gateway/verdict.ts"

/**
 * Answers a request that is not forwarded.
 *
 * @param message a fixed sentence; nothing the client sent
 */
export const refuse = (
  outgoing: ServerResponse,
  status: number,
  message: string,
  headers: ReadonlyArray<Header> = [["cache-control", "no-store"]],
): void => {
  const body = JSON.stringify({ message })
  outgoing.writeHead(status, [
    ...headers.flat(),
    "content-type",
    "application/json",
    "content-length",
    String(Buffer.byteLength(body)),
  ])
  outgoing.end(body)
}
