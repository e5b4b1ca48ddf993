import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { type Context, Effect } from "effect"
import { decide, type GatewayPorts } from "../../application/gateway/decide.ts"
import type { GatewaySettings } from "../../domain/gateway/gateway_settings.ts"
import { failed } from "../../domain/gateway/verdict.ts"
import { answerControl, isControl } from "../control.ts"
import { headerLines } from "../header_lines.ts"
import { LOOPBACK } from "../loopback.ts"
import { forward } from "./forward.ts"
import { refuse } from "./refuse.ts"
import { Upstream } from "./upstream.ts"

/** Time a connection may be silent, milliseconds: longer than the upstream may take. */
const IDLE_MS = 60_000

/** How long a client may take. A whole request has no deadline: a large body takes as long as it keeps moving. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 0,
  keepAliveTimeout: IDLE_MS,
  connectionsCheckingInterval: 1_000,
} as const

/** What the gateway judges by, and what is behind it. */
export interface GatewayServerOptions {
  readonly settings: GatewaySettings
  /** Origin of the upstream. */
  readonly upstreamUrl: string
  readonly controlSecret: string
  /** Milliseconds the upstream may be silent before it answers; 30,000 when absent. */
  readonly answerMs?: number
  readonly log: (entry: Readonly<Record<string, unknown>>) => void
}

/**
 * The embedded gateway: every request is judged by the policies and then refused, redirected or forwarded.
 *
 * @param context holds the policies' ports, built once
 */
export const gatewayServer = (
  context: Context.Context<GatewayPorts>,
  { settings, upstreamUrl, controlSecret, answerMs, log }: GatewayServerOptions,
): Server => {
  let hits = 0
  const run = Effect.runPromiseWith(context)
  const upstream = new Upstream(upstreamUrl, answerMs)
  // Nobody but this machine can connect.
  const arrival = { clientAddress: LOOPBACK, publicUrl: settings.publicUrl, upstreamHost: upstream.host }
  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    if (isControl(incoming.headers, controlSecret))
      return answerControl(incoming, outgoing, { service: "gateway", pid: process.pid, hits })
    hits++
    const startedAt = performance.now()
    const request = {
      method: incoming.method ?? "",
      rawTarget: incoming.url ?? "",
      headers: headerLines(incoming.rawHeaders),
    }
    outgoing.once("close", () =>
      log({
        method: request.method,
        path: request.rawTarget.split("?", 1)[0],
        status: outgoing.statusCode,
        ms: Math.round((performance.now() - startedAt) * 10) / 10,
      }),
    )
    const verdict = await run(decide(request, settings)).catch(() => failed)
    if (verdict.kind === "forward") return forward(request, verdict, incoming, outgoing, upstream, arrival)
    if (verdict.kind === "refuse") refuse(outgoing, verdict.status, verdict.message, verdict.headers)
    else outgoing.writeHead(302, [...verdict.headers, ["location", verdict.location]].flat()).end()
  }
  const server = createServer(LIMITS, handle)
  // Otherwise the runtime would ask for every body, also for one of a request that is refused.
  server.on("checkContinue", handle)
  server.setTimeout(IDLE_MS)
  server.on("close", () => upstream.close())
  return server
}
