import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { ManagedRuntime } from "effect"
import { decide, type GatewayPorts } from "../../domain/gateway/decide.ts"
import type { GatewayRequest } from "../../domain/gateway/gateway_request.ts"
import type { GatewaySettings } from "../../domain/gateway/gateway_settings.ts"
import { failed, type Verdict } from "../../domain/gateway/verdict.ts"
import { answerControl, isControl } from "../control.ts"
import { forward } from "./forward.ts"

/** Bytes of request line and headers taken together; more is answered 431. */
const HEAD_MAX = 32 * 1024

export interface GatewayServerOptions {
  readonly settings: GatewaySettings
  /** Origin of the upstream. */
  readonly upstreamUrl: string
  readonly controlSecret: string
  readonly log: (entry: Readonly<Record<string, unknown>>) => void
}

/** Reads the request as it was sent: Bun's HTTP server over `node:http` keeps the raw target and every header line. */
const readRequest = ({ method = "", url = "", rawHeaders }: IncomingMessage): GatewayRequest => {
  const headers: Array<readonly [string, string]> = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    headers.push([(rawHeaders[at] ?? "").toLowerCase(), rawHeaders[at + 1] ?? ""])
  return { method, rawTarget: url, headers }
}

const answer = (response: ServerResponse, verdict: Exclude<Verdict, { kind: "forward" }>): number => {
  const status = verdict.kind === "refuse" ? verdict.status : 302
  const body = verdict.kind === "refuse" ? JSON.stringify({ message: verdict.message }) : ""
  const headers =
    verdict.kind === "refuse"
      ? [...verdict.headers, ["content-type", "application/json"] as const]
      : [...verdict.headers, ["location", verdict.location] as const]
  response.writeHead(status, [...headers, ["content-length", String(body.length)] as const].flat())
  response.end(body)
  return status
}

/**
 * The embedded gateway: every request is judged by the policies and then refused, redirected or forwarded.
 *
 * @param runtime holds the policies' ports, built once
 */
export const gatewayServer = (
  runtime: ManagedRuntime.ManagedRuntime<GatewayPorts, never>,
  { settings, upstreamUrl, controlSecret, log }: GatewayServerOptions,
): Server => {
  let hits = 0
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    hits++
    const startedAt = performance.now()
    const request = readRequest(incoming)
    const verdict = await runtime.runPromise(decide(request, settings)).catch(() => failed)
    const clientAddress = incoming.socket.remoteAddress ?? "unknown"
    if (verdict.kind !== "forward") incoming.resume()
    const outcome =
      verdict.kind === "forward"
        ? await forward(incoming, response, request, verdict, upstreamUrl, {
            clientAddress,
            publicUrl: settings.publicUrl,
          })
        : answer(response, verdict)
    const path = request.rawTarget.split("?", 1)[0]
    log({ method: request.method, path, outcome, ms: Math.round((performance.now() - startedAt) * 10) / 10 })
  }
  return createServer({ maxHeaderSize: HEAD_MAX }, (incoming, response) => {
    if (isControl(incoming.headers, controlSecret))
      return answerControl(incoming, response, { service: "gateway", pid: process.pid, hits })
    serve(incoming, response).catch((failure: unknown) => {
      log({ level: "error", message: failure instanceof Error ? failure.message : "request failed" })
      response.destroy()
    })
  })
}
