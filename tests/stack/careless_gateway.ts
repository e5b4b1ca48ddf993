// A gateway that does what real ones have been measured to do, and worse: it compares the raw path, believes any token that
// can be read, and lets the client say who it is.
import { request as ask, createServer, type Server } from "node:http"

export const carelessGateway = (upstreamUrl: string): Server =>
  createServer((incoming, response) => {
    const raw = incoming.url ?? "/"
    const bearer = incoming.headers.authorization?.includes("eyJ")
    const allowed = raw.startsWith("/open/allowed") || (/^\/(jwt|api)/.test(raw) && bearer)
    if (!allowed) return void response.writeHead(raw.startsWith("/open") ? 403 : 401).end()
    const path = raw.replace(/^\/[\w-]+/, "")
    const { host, "x-forwarded-host": _given, ...headers } = incoming.headers
    const out = ask(
      upstreamUrl + path,
      { headers: { ...headers, "x-forwarded-host": host }, method: incoming.method },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(response)
      },
    )
    out.on("error", () => response.destroy())
    incoming.pipe(out)
  })
