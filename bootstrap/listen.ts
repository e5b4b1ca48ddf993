import type { Front } from "../adapters/driving/http/front.ts"
import type { ArrivedRequest } from "../adapters/driving/http_server/arrived_request.ts"
import { serveHttp } from "../adapters/driving/http_server/http_server.ts"
import { toAnswer, toRequest } from "../adapters/driving/http_server/standard_fetch.ts"

/**
 * Time without a byte in either direction after which a connection is closed, milliseconds. Longer than a body may take, so
 * that whoever reads the body can say what was wrong.
 */
const IDLE_MS = 35_000

/** Time the head of a request may take, milliseconds. */
const HEAD_MS = 10_000

/** Time for running requests to finish once the service was told to stop, milliseconds. */
const GRACE_MS = 10_000

export interface Listener {
  readonly url: string
  /** Takes no new connection, lets running requests finish (up to {@link GRACE_MS}), closes the rest. */
  readonly stop: () => Promise<void>
}

/**
 * Puts the service behind an HTTP server.
 *
 * @param where.port 0 takes any free port
 * @throws when the address cannot be bound
 */
export const listen = (
  front: Front,
  where: { readonly hostname: string; readonly port: number; readonly idleMs?: number; readonly headMs?: number },
): Listener => {
  const routed = async (arrived: ArrivedRequest) => {
    const request = toRequest(arrived)
    return typeof request === "string" ? front.refuse(request) : toAnswer(await front.fetch(request))
  }
  const server = serveHttp({
    hostname: where.hostname,
    port: where.port,
    handle: (arrived) => front.answer(arrived) ?? routed(arrived),
    refuse: front.refuse,
    fail: front.fail,
    idleMs: where.idleMs ?? IDLE_MS,
    headMs: where.headMs ?? HEAD_MS,
    graceMs: GRACE_MS,
  })
  const host = where.hostname.includes(":") ? `[${where.hostname}]` : where.hostname
  return { url: `http://${host}:${server.port}`, stop: server.stop }
}
