import { createServer, type Server } from "node:http"
import { answerControl, isControl } from "../control.ts"
import { headerLines } from "../header_lines.ts"

/** Bytes of a body repeated in the answer. */
const ECHOED_MAX = 64 * 1024

/**
 * Word by which `stack check` asks an upstream that a person started how often it was asked. It is public: the count is no
 * secret, and that upstream has none.
 */
export const COUNT_WORD = "count"

/** The cookies that a request asks for, by `?set-cookie=...`: a check sees which of them a gateway lets through. */
const cookiesFor = (target: string): ReadonlyArray<string> =>
  new URLSearchParams(target.split("?")[1] ?? "").getAll("set-cookie").filter((line) => /^[ -~]+$/.test(line))

/** What the upstream received, as it tells its caller. */
export interface Echo {
  /** Raw request target. */
  readonly path: string
  readonly method: string
  /** Header lines in order, names in lower case. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  /** Bytes of the body. */
  readonly length: number
  readonly body: string
}

/** The upstream: answers every request with what it received, and counts. */
export const echoServer = (controlSecret: string): Server => {
  let hits = 0
  return createServer((request, response) => {
    if (isControl(request.headers, controlSecret))
      return answerControl(request, response, { service: "upstream", pid: process.pid, hits })
    hits++
    // Copied into one piece: a buffer of its own for every byte of a body in tiny chunks would take a thousand times more.
    let echoed = Buffer.alloc(0)
    let length = 0
    request.on("data", (chunk: Buffer) => {
      if (length + chunk.length > echoed.length && echoed.length < ECHOED_MAX)
        echoed = Buffer.concat([echoed], Math.min(ECHOED_MAX, 2 * (length + chunk.length)))
      chunk.copy(echoed, length)
      length += chunk.length
    })
    request.on("error", () => response.destroy())
    request.on("end", () => {
      const echo: Echo = {
        path: request.url ?? "",
        method: request.method ?? "",
        headers: headerLines(request.rawHeaders),
        length,
        body: echoed.toString("utf8", 0, Math.min(length, ECHOED_MAX)),
      }
      response.setHeader("content-type", "application/json")
      const cookies = cookiesFor(echo.path)
      if (cookies.length > 0) response.setHeader("set-cookie", cookies)
      response.end(JSON.stringify(echo))
    })
  })
}
