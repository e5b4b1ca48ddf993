// A proxy in front of a real agent that delays, drops and answers for it, one job at a time.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** What happens to one request. */
export interface Treatment {
  /** How long it is on its way to the agent, milliseconds; it arrives though its sender may be gone by then. */
  readonly delayMs?: number
  /** Answered in the agent's place; `reached` says whether the agent had it all the same. */
  readonly instead?: { readonly reached: boolean; readonly status: number; readonly body: string }
}

export interface AgentProxy {
  readonly url: string
  /** What happens to the next requests of this method about a job, one each; after them, they pass. */
  readonly treat: (method: "GET" | "POST", jobId: string, ...treatments: ReadonlyArray<Treatment>) => void
  /** Requests of this method about a job that came so far. */
  readonly seen: (method: "GET" | "POST", jobId: string) => number
  readonly stop: () => Promise<void>
}

/** A load balancer's own page. */
export const FOREIGN_404 = { status: 404, body: "404 page not found\n" } as const

const jobOf = (target: string): string => decodeURIComponent(/^\/v1\/job\/([^/?]+)/.exec(target)?.[1] ?? "")

/** Starts a proxy before the agent of this address. */
export const startAgentProxy = async (agentUrl: string): Promise<AgentProxy> => {
  const treatments = new Map<string, Array<Treatment>>()
  const counts = new Map<string, number>()
  const keyOf = (method: string, jobId: string): string => `${method} ${jobId}`

  const pass = async (incoming: IncomingMessage, body: Buffer) => {
    const token = incoming.headers["x-nomad-token"]
    const answer = await fetch(agentUrl + (incoming.url ?? ""), {
      method: incoming.method ?? "GET",
      ...(body.length > 0 ? { body } : {}),
      headers: typeof token === "string" ? { "x-nomad-token": token } : {},
    })
    return { status: answer.status, body: await answer.text() }
  }

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Array<Uint8Array> = []
    for await (const chunk of incoming) chunks.push(chunk as Uint8Array)
    const body = Buffer.concat(chunks)
    const key = keyOf(incoming.method ?? "", jobOf(incoming.url ?? ""))
    counts.set(key, (counts.get(key) ?? 0) + 1)
    const { delayMs = 0, instead } = treatments.get(key)?.shift() ?? {}
    await Bun.sleep(delayMs)
    const passed = instead?.reached === false ? undefined : await pass(incoming, body)
    const { status, body: text } = instead ?? passed ?? { status: 502, body: "" }
    response.writeHead(status).end(text)
  }

  const server: Server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy())
  })
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    treat: (method, jobId, ...more) => {
      const key = keyOf(method, jobId)
      treatments.set(key, [...(treatments.get(key) ?? []), ...more])
    },
    seen: (method, jobId) => counts.get(keyOf(method, jobId)) ?? 0,
    stop: () =>
      new Promise((stopped) => {
        server.close(() => stopped())
        server.closeAllConnections()
      }),
  }
}
