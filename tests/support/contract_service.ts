// Every area of the product in one process, behind a realm of its own, with an agent and a graph that never fail: what an
// attack by the OpenAPI document is let loose on.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { startFakeAgent } from "./fake_agent.ts"
import { makeGraphModel } from "./graph_model.ts"
import { graphServer } from "./graph_server.ts"
import { endProcesses, newHome, serve } from "./service_process.ts"
import { tokenKit } from "./tokens.ts"

const ROLES = ["user", "operator", "publisher", "harbour-master"]
const TOKEN_LIFE_S = 4 * 3600

/** A collection with every kind of field; the built-in one has two. */
const COLLECTIONS = {
  collections: [
    {
      name: "products",
      fields: {
        type: "object",
        required: ["name"],
        properties: {
          name: { type: "string", minLength: 1, maxLength: 1000, examples: ["Anchor chain"] },
          price: { type: "number", minimum: 0, default: 0, examples: [12.5] },
        },
      },
    },
    {
      name: "ships",
      fields: {
        type: "object",
        required: ["name", "kind", "measures"],
        properties: {
          name: { type: "string", minLength: 1, maxLength: 60, examples: ["Elbe 3"] },
          kind: { enum: ["tug", "ferry", "lightship"], examples: ["lightship"] },
          call_sign: { type: "string", pattern: "^[A-Z]{4}$", examples: ["DEAN"] },
          built: { type: "string", format: "date", examples: ["1888-05-01"] },
          afloat: { type: "boolean", default: true },
          draught_m: { anyOf: [{ type: "number", exclusiveMinimum: 0, maximum: 40 }, { type: "null" }] },
          ports: { type: "array", items: { type: "string", minLength: 1 }, maxItems: 5, default: [] },
          measures: {
            type: "object",
            required: ["length_m"],
            properties: {
              length_m: { type: "integer", minimum: 1, maximum: 500 },
              unit: { type: "string", default: "m" },
            },
            additionalProperties: false,
            examples: [{ length_m: 45 }],
          },
        },
      },
      roles: { delete: ["harbour-master"] },
      updates: ["replace", "patch"],
      timestamps: true,
    },
  ],
}

export interface ContractService {
  readonly url: string
  /** Tokens by what is sent: an acceptable one with every role, one of another realm, and one without a role. */
  readonly tokens: Readonly<Record<"valid" | "bad" | "role-less", string>>
  /** What the service wrote to its log so far. */
  readonly log: () => string
  readonly stop: () => Promise<void>
}

/** Starts `portolan serve` with records, scheduler and media over SQLite. */
export const startContractService = async (): Promise<ContractService> => {
  const scope = Effect.runSync(Scope.make())
  const model = makeGraphModel({ processingMs: 0, quotaTotal: 1_000_000, containersPerDay: 1_000_000 })
  // The platform reads an id that it does not know as an outage (503). That answer is tested where its meaning is tested.
  model.setFault(({ operation, subject }) =>
    operation === "status" && !model.containers.has(subject)
      ? {
          kind: "answer",
          answer: { status: 400, body: { error: { message: "Unknown", code: 24, error_subcode: 2207006 } } },
        }
      : undefined,
  )
  const graph = await Effect.runPromise(Scope.provide(graphServer(model, Date.now), scope))
  const agent = await startFakeAgent()
  const home = newHome()
  const collections = join(home, "collections.json")
  writeFileSync(collections, JSON.stringify(COLLECTIONS))
  const service = await serve({
    PORTOLAN_HOME: home,
    COLLECTIONS: collections,
    SCHEDULER_URL: agent.url,
    GRAPH_URL: graph.url,
    GRAPH_API_VERSION: "v25.0",
    GRAPH_ACCOUNT_ID: "17841400008460056",
    GRAPH_ACCESS_TOKEN: "graph-t0ken",
  })
  const kit = tokenKit(Math.floor(Date.now() / 1000))
  const exp = kit.now + TOKEN_LIFE_S
  return {
    url: service.address,
    tokens: {
      valid: kit.access({ exp, realm_access: { roles: ROLES } }),
      bad: `${kit.access({ exp, realm_access: { roles: ROLES } }).slice(0, -6)}AAAAAA`,
      "role-less": kit.access({ exp, realm_access: { roles: [] } }),
    },
    log: service.stderr,
    stop: async () => {
      await endProcesses()
      await agent.stop()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    },
  }
}
