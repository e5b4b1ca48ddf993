import type { Line } from "../../domain/gateway/route_profile.ts"

/** Images of the Docker engine, pinned to the versions that were measured. */
export const IMAGES = {
  gateway: { "2.8": "kong:2.8.5-ubuntu", "3.9": "kong:3.9.3" } satisfies Record<Line, string>,
  idp: "quay.io/keycloak/keycloak:26.4",
  upstream: "debian:12-slim",
  postgres: "postgres:13-alpine",
  cassandra: "cassandra:3.11",
} as const

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

const SOCKET = "/usr/local/kong/gate.socket"

/** The gateway's settings that are the same on both lines and with every database. */
export const GATEWAY_ENVIRONMENT = {
  KONG_PLUGINS: "bundled,portolan-gate",
  KONG_PLUGINSERVER_NAMES: "gate",
  KONG_PLUGINSERVER_GATE_SOCKET: SOCKET,
  KONG_PLUGINSERVER_GATE_START_CMD: `${GATE} serve ${SOCKET} /run/portolan/gate.json`,
  KONG_PLUGINSERVER_GATE_QUERY_CMD: `${GATE} -dump`,
  KONG_PROXY_LISTEN: "0.0.0.0:8000",
  KONG_ADMIN_LISTEN: "127.0.0.1:8001",
  KONG_STATUS_LISTEN: "127.0.0.1:8100",
  KONG_ANONYMOUS_REPORTS: "off",
  KONG_PROXY_ACCESS_LOG: "/dev/null",
  KONG_PROXY_ERROR_LOG: "/dev/stderr",
  KONG_NGINX_PROXY_LARGE_CLIENT_HEADER_BUFFERS: "4 32k",
} as const
