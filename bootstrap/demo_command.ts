import { Effect, Redacted } from "effect"
import { Elysia } from "elysia"
import type { Terminal } from "../adapters/driving/cli/command.ts"
import { collectionDocs } from "../adapters/driving/http/collection_docs.ts"
import { products } from "../domain/records/products.ts"
import { type Config, InvalidConfiguration, isConfigured, readEnvironment, sqlitePath } from "./config.ts"
import { DEMO_JOB, demoGraphArea, demoSchedulerArea } from "./demo_areas.ts"
import { DEMO_ROLES, makeDemoRealm } from "./demo_realm.ts"
import { serveConfigured } from "./serve_command.ts"
import type { ServiceOptions } from "./service.ts"

const AUTH_VARIABLES = [
  "AUTH_PUBLIC_KEY",
  "AUTH_JWKS_URL",
  "AUTH_ISSUER",
  "AUTH_AUDIENCE",
  "AUTH_CLOCK_TOLERANCE_S",
  "AUTH_REQUIRE_TYP",
] as const

/** The delete handler mounted a second time, behind a role (specification 4.1, "Custom mounting"). */
export const demoRoutes: NonNullable<ServiceOptions["extend"]> = (setups, { guard }) => {
  const handler = setups.get("products")?.handler
  if (handler === undefined) return []
  const roles = ["catalogue-admin"]
  return [
    new Elysia().delete("/admin/products/:id", handler.delete, {
      beforeHandle: guard.requireRoles(roles),
      detail: {
        ...collectionDocs({ ...products, roles: { delete: roles } }).delete,
        operationId: "delete_products_as_admin",
        summary: "Delete as a catalogue admin",
      },
    }),
  ]
}

const STORES: Readonly<Record<Config["STORE"], (config: Config) => string>> = {
  sqlite: (config) => `in SQLite: ${sqlitePath(config)}`,
  memory: () => "in memory: gone with the demo",
  mongo: () => "in MongoDB",
}

const demoScreen = (config: Config, url: string, token: string): string => {
  const authorization = '-H "Authorization: Bearer $TOKEN"'
  const sends = (body: object) => `-H "Content-Type: application/json" -d '${JSON.stringify(body)}' ${authorization}`
  const { jobId, region } = DEMO_JOB
  const job = config.SCHEDULER_URL === undefined ? jobId : "my-job"
  return `Portolan demo: not for production. Its realm and token exist for this run only.

  Address    ${url}
  API page   ${url}/openapi
  Roles      ${DEMO_ROLES.join(", ")}

  Records    ${STORES[config.STORE](config)}
  Scheduler  ${config.SCHEDULER_URL ?? `in memory: the job '${jobId}' is there and runs nowhere`}
  Media      ${config.GRAPH_URL ?? "in memory: what is published appears nowhere"}
  Gateway    a stack of its own: portolan stack up

Once, for all lines below:

TOKEN=${token}

Records: create, list, get

curl -s -X POST ${url}/api/products ${sends({ name: "Anchor chain", price: 12.5 })}
curl -s "${url}/api/products?limit=10" ${authorization}
curl -s ${url}/api/products/1 ${authorization}

Scheduler: restart a job (to 0 and, a second later, back to 1), see it

curl -s -X POST "${url}/scheduler/jobs/${job}/restart?region=${region}" ${authorization}
curl -s "${url}/scheduler/jobs/${job}?region=${region}" ${authorization}

Media: publish a picture once, however often it is sent; see the quota

curl -s -X POST ${url}/media/posts ${sends({ key: "first-post", kind: "image", imageUrl: "https://example.com/a.jpg" })}
curl -s ${url}/media/limit ${authorization}

Stop with Ctrl-C. Log lines follow.

`
}

/** What the demo serves in memory: each area that no real system is configured for. */
const inMemory = (config: Config) => [
  ...(config.SCHEDULER_URL === undefined ? [demoSchedulerArea(config)] : []),
  ...(config.GRAPH_URL === undefined ? [demoGraphArea(config)] : []),
]

/** The page fills the token in only while nobody but this machine reaches it. */
const pageToken = ({ HOST }: Config, token: string): string | undefined =>
  /^(?:127\.0\.0\.1|localhost|::1)$/.test(HOST) ? token : undefined

/**
 * `portolan demo`: all areas behind a realm made for this run (specification 10).
 *
 * @param port to listen on; PORT when undefined
 */
export const demo = Effect.fnUntraced(function* (terminal: Terminal, port: number | undefined) {
  const config = yield* readEnvironment
  const set = AUTH_VARIABLES.filter(isConfigured)
  if (set.length > 0)
    return yield* new InvalidConfiguration({
      mistakes: set.map((variable) => ({
        variable,
        rule: "must not be set for the demo, which makes its own realm; use 'portolan serve'",
      })),
      instead: "serve",
    })
  const { publicKey, token } = yield* Effect.promise(makeDemoRealm)
  return yield* serveConfigured(
    { ...config, PORT: port ?? config.PORT, AUTH_PUBLIC_KEY: Redacted.make(publicKey) },
    { collections: [products], areas: inMemory(config), extend: demoRoutes, pageToken: pageToken(config, token) },
    (url) => terminal.out(demoScreen(config, url, token)),
  )
})
