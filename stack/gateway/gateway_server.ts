import { type Context, Effect, Exit } from "effect"
import type { Answer } from "../../adapters/driving/http_server/answer.ts"
import type { ArrivedRequest } from "../../adapters/driving/http_server/arrived_request.ts"
import type { Refusal } from "../../adapters/driving/http_server/connection_options.ts"
import { type HttpServer, serveHttp } from "../../adapters/driving/http_server/http_server.ts"
import { decide, type GatewayPorts } from "../../domain/gateway/decide.ts"
import type { GatewayRequest } from "../../domain/gateway/gateway_request.ts"
import type { GatewaySettings } from "../../domain/gateway/gateway_settings.ts"
import { failed, type Header, type Verdict } from "../../domain/gateway/verdict.ts"
import { CONTROL_HEADER, isControlWord, type ServiceReport } from "../control.ts"
import { LOOPBACK } from "../loopback.ts"
import { forward } from "./forward.ts"
import { upstreamPool } from "./upstream_pool.ts"

/** Time a connection may be silent, milliseconds: longer than the upstream may take. */
const IDLE_MS = 60_000

/** Time the head of a request may take, milliseconds. */
const HEAD_MS = 10_000

/** Time for running requests after a stop, milliseconds. */
const GRACE_MS = 2_000

export interface GatewayServerOptions {
  readonly settings: GatewaySettings
  /** Origin of the upstream. */
  readonly upstreamUrl: string
  readonly controlSecret: string
  /** TCP port; 0 takes a free one. */
  readonly port: number
  readonly log: (entry: Readonly<Record<string, unknown>>) => void
}

const JSON_TYPE = ["content-type", "application/json"] as const

const json = (status: number, body: unknown, headers: ReadonlyArray<Header> = []): Answer => ({
  status,
  headers: [JSON_TYPE, ...headers.map(([name, value]) => [name.toLowerCase(), value] as const)],
  body: JSON.stringify(body),
})

const answerTo = (verdict: Exclude<Verdict, { kind: "forward" }>): Answer => {
  if (verdict.kind === "refuse") return json(verdict.status, { message: verdict.message }, verdict.headers)
  const headers = verdict.headers.map(([name, value]) => [name.toLowerCase(), value] as const)
  return { status: 302, headers: [...headers, ["location", verdict.location]], body: null }
}

/** What is no request never reaches a policy. */
const REFUSALS: Readonly<Record<Refusal, readonly [status: number, message: string]>> = {
  malformed: [400, "malformed request"],
  "invalid-host": [400, "malformed request"],
  "head-too-large": [431, "request header too large"],
  "too-slow": [408, "request timeout"],
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
): HttpServer => {
  let hits = 0
  const run = Effect.runForkWith(context)
  const upstream = upstreamPool(upstreamUrl)
  // Nobody but this machine can connect.
  const arrival = { clientAddress: LOOPBACK, publicUrl: settings.publicUrl, upstreamHost: new URL(upstreamUrl).host }
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
  const handle = async (arrived: ArrivedRequest): Promise<Answer> => {
    const control = arrived.headers.get(CONTROL_HEADER)
    if (control !== null && isControlWord(control, controlSecret))
      return json(200, { service: "gateway", pid: process.pid, hits } satisfies ServiceReport)
    hits++
    const startedAt = performance.now()
    const request = { method: arrived.method, rawTarget: arrived.target, headers: arrived.headers.lines() }
    const judged = judge(request)
    const verdict = judged instanceof Promise ? await judged : judged
    const answer =
      verdict.kind === "forward" ? await forward(request, arrived, verdict, upstream, arrival) : answerTo(verdict)
    const query = request.rawTarget.indexOf("?")
    log({
      method: request.method,
      path: query === -1 ? request.rawTarget : request.rawTarget.slice(0, query),
      status: answer.status,
      ms: Math.round((performance.now() - startedAt) * 10) / 10,
    })
    return answer
  }
  const server = serveHttp({
    hostname: LOOPBACK,
    port,
    idleMs: IDLE_MS,
    headMs: HEAD_MS,
    graceMs: GRACE_MS,
    handle,
    refuse: (refusal) => {
      const [status, message] = REFUSALS[refusal]
      return json(status, { message })
    },
    fail: () => answerTo(failed),
  })
  return {
    ...server,
    stop: async () => {
      await server.stop()
      upstream.close()
    },
  }
}
