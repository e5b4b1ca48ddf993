import { type BunRequest, type Server, serve } from "bun"
import { type Context, Effect, Exit } from "effect"
import { decide, type GatewayPorts } from "../../domain/gateway/decide.ts"
import type { GatewayRequest } from "../../domain/gateway/gateway_request.ts"
import type { GatewaySettings } from "../../domain/gateway/gateway_settings.ts"
import { failed, type Header, type Verdict } from "../../domain/gateway/verdict.ts"
import { CONTROL_HEADER, isControlWord, type ServiceReport } from "../control.ts"
import { LOOPBACK } from "../loopback.ts"
import { forward } from "./forward.ts"
import { rawTargetOf, SEGMENT_PATTERNS, UNSEEN_TARGET } from "./raw_target.ts"

/** Seconds a connection may be silent. */
const IDLE_S = 60

export interface GatewayServerOptions {
  readonly settings: GatewaySettings
  /** Origin of the upstream. */
  readonly upstreamUrl: string
  readonly controlSecret: string
  /** TCP port; 0 takes a free one. */
  readonly port: number
  readonly log: (entry: Readonly<Record<string, unknown>>) => void
}

// Lines of one name arrive joined by a comma; two bearer tokens are two credentials again.
const TWO_TOKENS = /^(bearer [^,]*), *(bearer .*)$/i

/** Reads the request for the policies. */
const readRequest = ({ method, headers }: Request, rawTarget: string): GatewayRequest => {
  const lines: Array<Header> = []
  headers.forEach((value, name) => {
    const [, one, two] = (name === "authorization" && TWO_TOKENS.exec(value)) || []
    if (one === undefined || two === undefined) lines.push([name, value])
    else lines.push([name, one], [name, two])
  })
  return { method, rawTarget, headers: lines }
}

const answer = (verdict: Exclude<Verdict, { kind: "forward" }>): Response => {
  const headers = new Headers(verdict.headers.map(([name, value]): [string, string] => [name, value]))
  if (verdict.kind === "refuse") return Response.json({ message: verdict.message }, { status: verdict.status, headers })
  headers.set("location", verdict.location)
  return new Response(null, { status: 302, headers })
}

/**
 * Starts the embedded gateway on the loopback interface: every request is judged by the policies and then refused,
 * redirected or forwarded.
 *
 * @param context holds the policies' ports, built once
 */
export const startGateway = (
  context: Context.Context<GatewayPorts>,
  { settings, upstreamUrl, controlSecret, port, log }: GatewayServerOptions,
): Server<undefined> => {
  let hits = 0
  const run = Effect.runForkWith(context)
  /** The verdict, at once where nothing has to be waited for: a remembered token needs no promise. */
  const judge = (request: GatewayRequest): Verdict | Promise<Verdict> => {
    const verdict = decide(request, settings)
    if (!Effect.isEffect(verdict)) return verdict
    const fiber = run(verdict)
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return Exit.isSuccess(exit) ? exit.value : failed
    return new Promise((resolve) => {
      fiber.addObserver((late) => resolve(Exit.isSuccess(late) ? late.value : failed))
    })
  }
  const handle = async (incoming: Request, rawTarget: string): Promise<Response> => {
    const control = incoming.headers.get(CONTROL_HEADER)
    if (control !== null && isControlWord(control, controlSecret))
      return Response.json({ service: "gateway", pid: process.pid, hits } satisfies ServiceReport)
    hits++
    const startedAt = performance.now()
    const request = readRequest(incoming, rawTarget)
    const judged = judge(request)
    const verdict = judged instanceof Promise ? await judged : judged
    const response =
      verdict.kind === "forward"
        ? await forward(incoming, request, verdict, upstreamUrl, {
            // Nobody else can connect; asking the socket each time would cost a twentieth of the throughput.
            clientAddress: LOOPBACK,
            publicUrl: settings.publicUrl,
          })
        : answer(verdict)
    const query = rawTarget.indexOf("?")
    log({
      method: request.method,
      path: query === -1 ? rawTarget : rawTarget.slice(0, query),
      status: response.status,
      ms: Math.round((performance.now() - startedAt) * 10) / 10,
    })
    return response
  }
  const seen = (incoming: BunRequest) => handle(incoming, rawTargetOf(incoming.url, incoming.params))
  return serve({
    hostname: LOOPBACK,
    port,
    reusePort: false,
    // Longer than an upstream may take; the server's own ten seconds would cut a slow answer off.
    idleTimeout: IDLE_S,
    // Bodies pass through; how long one may be is the upstream's to say.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    routes: Object.fromEntries(["/", ...SEGMENT_PATTERNS].map((pattern) => [pattern, seen])),
    fetch: (incoming) => handle(incoming, UNSEEN_TARGET),
    error: () => answer(failed),
  })
}
