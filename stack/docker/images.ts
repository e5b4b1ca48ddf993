import type { Line } from "../../domain/gateway/route_profile.ts"

/** Images of the Docker engine, pinned to the versions that were measured. */
export const IMAGES = {
  gateway: { "2.8": "kong:2.8.5-ubuntu", "3.9": "kong:3.9.3" } satisfies Record<Line, string>,
  idp: "quay.io/keycloak/keycloak:26.4",
  upstream: "debian:12-slim",
  postgres: "postgres:13-alpine",
  cassandra: "cassandra:3.11",
} as const

/**
 * The system of the containers that run our binary, where it is not the engine's own: the 2.8 image exists for amd64 alone, and the
 * upstream runs the same binary.
 */
export const PLATFORMS: Readonly<Record<Line, "linux/amd64" | undefined>> = { "2.8": "linux/amd64", "3.9": undefined }

/** Worker processes of the gateway: more than one, so that nothing holds only because there is one. */
export const WORKERS = 2

const GATE = "/usr/local/bin/gate"

/** Image of the gateway: the plain one, and our plugin server as one binary. No third-party plugin. */
export const gatewayDockerfile = (line: Line): string => `FROM ${IMAGES.gateway[line]}
USER root
COPY --chmod=0755 gate ${GATE}
USER kong
`

/** Image of the upstream: the same binary, told to echo. */
export const upstreamDockerfile = `FROM ${IMAGES.upstream}
COPY --chmod=0755 gate ${GATE}
USER nobody
ENTRYPOINT ["${GATE}", "upstream", "8900", "/run/portolan/control"]
`

/** The plugin server's socket in the gateway's container. */
export const SOCKET = "/usr/local/kong/gate.socket"

/** Milliseconds the plugin server may take to answer at all before a request is refused with 503. */
export const GUARD_ANSWER_MS = 1000

/** The gateway's settings that are the same on both lines and with every database. */
export const GATEWAY_ENVIRONMENT = {
  KONG_PLUGINS: "bundled,portolan-gate",
  KONG_PLUGINSERVER_NAMES: "gate",
  KONG_PLUGINSERVER_GATE_SOCKET: SOCKET,
  KONG_PLUGINSERVER_GATE_START_CMD: `${GATE} serve ${SOCKET} /run/portolan/gate.json`,
  KONG_PLUGINSERVER_GATE_QUERY_CMD: `${GATE} -dump`,
  // The system then deals connections out to the workers evenly, so that each of them can be met.
  KONG_PROXY_LISTEN: "0.0.0.0:8000 reuseport",
  KONG_NGINX_WORKER_PROCESSES: String(WORKERS),
  // The longest the plugin server may be silent while it judges; 60 s without this.
  KONG_NGINX_PROXY_LUA_SOCKET_READ_TIMEOUT: "5s",
  KONG_ADMIN_LISTEN: "127.0.0.1:8001",
  KONG_STATUS_LISTEN: "127.0.0.1:8100",
  KONG_ANONYMOUS_REPORTS: "off",
  KONG_PROXY_ACCESS_LOG: "/dev/null",
  KONG_PROXY_ERROR_LOG: "/dev/stderr",
  // Kong logs what its plugin server prints at this level, and by default only levels above it.
  KONG_LOG_LEVEL: "info",
  KONG_NGINX_PROXY_LARGE_CLIENT_HEADER_BUFFERS: "4 32k",
} as const
