import type { Line } from "../../domain/gateway/route_profile.ts"
import type { StackOptions } from "../../domain/gateway/stack_options.ts"
import { GATEWAY_ENVIRONMENT, IMAGES, PLATFORMS } from "./images.ts"

/** The address that every port is published on. */
const HERE = "127.0.0.1"

type Database = Exclude<StackOptions["database"], "off">

const every = (test: ReadonlyArray<string>, seconds: number, retries: number) => ({
  test,
  interval: `${seconds}s`,
  timeout: "5s",
  retries,
})

/** How the gateway reaches its database, and how the database says that it is there. */
const DATABASES = {
  postgres: {
    image: IMAGES.postgres,
    service: {
      environment: { POSTGRES_USER: "kong", POSTGRES_DB: "kong", POSTGRES_PASSWORD: "kong" },
      healthcheck: every(["CMD-SHELL", "pg_isready -U kong"], 2, 30),
    },
    gateway: { KONG_DATABASE: "postgres", KONG_PG_HOST: "database", KONG_PG_USER: "kong", KONG_PG_PASSWORD: "kong" },
  },
  cassandra: {
    image: IMAGES.cassandra,
    service: {
      environment: { MAX_HEAP_SIZE: "512M", HEAP_NEWSIZE: "128M" },
      healthcheck: every(["CMD-SHELL", "cqlsh -e 'describe keyspaces'"], 5, 40),
    },
    gateway: { KONG_DATABASE: "cassandra", KONG_CASSANDRA_CONTACT_POINTS: "database" },
  },
} as const satisfies Record<Database, unknown>

const CONFIG = "/run/portolan/kong.yml"

/** A container with our binary in it, made for the line's system. */
const built = (line: Line, dockerfile: string) => ({
  build: { context: ".", dockerfile },
  ...(PLATFORMS[line] === undefined ? {} : { platform: PLATFORMS[line] }),
})

const gateway = (line: Line, environment: Readonly<Record<string, string>>) => ({
  ...built(line, "gateway.Dockerfile"),
  environment: { ...GATEWAY_ENVIRONMENT, ...environment },
  volumes: ["./gate.json:/run/portolan/gate.json:ro", `./kong.yml:${CONFIG}:ro`],
})

/** One run that prepares the database: tables, and then the declarative configuration put into them. */
const migrations = (line: Line, environment: Readonly<Record<string, string>>) => ({
  ...gateway(line, environment),
  command: ["sh", "-c", `kong migrations bootstrap && kong config db_import ${CONFIG}`],
  depends_on: { database: { condition: "service_healthy" } },
  restart: "on-failure:3",
})

/**
 * The Docker engine's compose document. Nothing in it is a secret: those are in files beside it.
 *
 * @param options with the ports really taken
 */
export const composeDocument = ({ gateway: line, database, proxyPort, idpPort, upstreamPort }: StackOptions) => {
  const chosen = database === "off" ? undefined : DATABASES[database]
  const environment = chosen?.gateway ?? { KONG_DATABASE: "off", KONG_DECLARATIVE_CONFIG: CONFIG }
  return {
    services: {
      upstream: {
        ...built(line, "upstream.Dockerfile"),
        ports: [`${HERE}:${upstreamPort}:8900`],
        volumes: ["./control:/run/portolan/control:ro"],
      },
      idp: {
        image: IMAGES.idp,
        command: ["start-dev", "--import-realm"],
        environment: {
          KC_HOSTNAME: `http://localhost:${idpPort}`,
          // Browsers see the address above; the gateway's container asks by the service's name.
          KC_HOSTNAME_BACKCHANNEL_DYNAMIC: "true",
          KC_HEALTH_ENABLED: "true",
          KC_HTTP_PORT: "8080",
        },
        ports: [`${HERE}:${idpPort}:8080`],
        volumes: ["./realms:/opt/keycloak/data/import:ro"],
        healthcheck: every(
          [
            "CMD-SHELL",
            "exec 3<>/dev/tcp/127.0.0.1/9000 && printf 'GET /health/ready HTTP/1.0\\r\\n\\r\\n' >&3 && grep -q UP <&3",
          ],
          3,
          60,
        ),
      },
      ...(chosen === undefined
        ? {}
        : { database: { image: chosen.image, ...chosen.service }, migrations: migrations(line, environment) }),
      gateway: {
        ...gateway(line, environment),
        ports: [`${HERE}:${proxyPort}:8000`],
        // The image's own check runs once a minute.
        healthcheck: every(["CMD", "kong", "health"], 2, 60),
        depends_on: {
          upstream: { condition: "service_started" },
          idp: { condition: "service_healthy" },
          ...(chosen === undefined ? {} : { migrations: { condition: "service_completed_successfully" } }),
        },
      },
    },
    "x-portolan": { gateway: line },
  }
}
