import { Effect, Layer, Stream } from "effect"
import { SchedulerPort } from "../../../domain/scheduler/scheduler_port.ts"
import type { MemoryAgent } from "./memory_agent.ts"
import type { AgentRequest } from "./memory_routes.ts"
import type { WireRequest } from "./wire.ts"
import { makePort, type Transport } from "./wire_port.ts"

export interface MemorySchedulerOptions {
  readonly agent: MemoryAgent
  readonly scaleGroup: string
  readonly token?: string
}

const transportTo = ({ agent, token }: MemorySchedulerOptions): Transport => {
  const asked = (request: WireRequest): AgentRequest => ({
    method: request.method,
    path: request.path,
    query: new URLSearchParams(request.query),
    body: request.body ?? "",
    ...(token === undefined ? {} : { token }),
  })
  return {
    endpoint: "memory:",
    mask: (text) => text,
    send: (request) =>
      Effect.map(agent.handle(asked(request)), ({ status, headers, body }) => ({
        status,
        text: body,
        index: headers["x-nomad-index"] ?? null,
      })),
    open: (request) =>
      Effect.succeed({ status: 200, chunks: Stream.encodeText(agent.eventLines(new URLSearchParams(request.query))) }),
  }
}

/** The scheduler in memory: the same requests and answers as over HTTP, without a socket. */
export const layer = (options: MemorySchedulerOptions): Layer.Layer<SchedulerPort> =>
  Layer.succeed(SchedulerPort, makePort(transportTo(options), { scaleGroup: options.scaleGroup, retries: 0 }))
