import { BODY_BYTES_MAX } from "../adapters/driving/http/json_body.ts"

/** Bytes of a request body from which on the runtime itself ends the request: a little above what a handler refuses in words. */
const RUNTIME_BODY_BYTES_MAX = BODY_BYTES_MAX + 65_536

/**
 * Time from a request's start after which the runtime closes its connection, seconds. Longer than the longest answer takes:
 * 30 s for the body, 45 s for a write to the scheduler.
 */
const REQUEST_MAX_S = 90

/** Time for running requests to finish once the service was told to stop, milliseconds. */
const GRACE_MS = 10_000

/** Answers requests. It gets the runtime's server too: whoever answers for longer than {@link REQUEST_MAX_S} tells it so. */
export type Fetch = (request: Request, server: Bun.Server<undefined>) => Response | Promise<Response>

/** A listening service. */
export interface Listener {
  readonly url: string
  /** Takes no new connection, lets running requests finish (up to {@link GRACE_MS}), closes the rest. */
  readonly stop: () => Promise<void>
}

/** Where to listen. */
export interface Place {
  readonly hostname: string
  /** 0 takes any free port. */
  readonly port: number
  /** Lets several processes share the port, on Linux; false when omitted. */
  readonly reusePort?: boolean
}

/** A request without a usable `Host`, as HTTP/1.0 allows, has a path in place of a URL: it is put below a fixed host. */
const withUrl = (request: Request): Request =>
  request.url.startsWith("/") ? new Request(`http://localhost${request.url}`, request) : request

/**
 * Puts the service behind the runtime's HTTP server. The only line of the service that needs Bun.
 *
 * @param fetch answers a request
 * @throws when the address cannot be bound
 */
export const listen = (fetch: Fetch, place: Place): Listener => {
  const server = Bun.serve({
    ...place,
    reusePort: place.reusePort ?? false,
    // Otherwise an error that nobody caught shows a page with the source around it.
    development: false,
    maxRequestBodySize: RUNTIME_BODY_BYTES_MAX,
    idleTimeout: REQUEST_MAX_S,
    fetch: (request, server) => fetch(withUrl(request), server),
  })
  return {
    url: server.url.origin,
    stop: async () => {
      const grace = setTimeout(() => void server.stop(true), GRACE_MS)
      await server.stop()
      clearTimeout(grace)
    },
  }
}
