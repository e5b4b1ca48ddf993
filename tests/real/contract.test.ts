// The OpenAPI document before those who use one: a fuzzer, a linter, and a generator of types. The long attack is
// `bun run attack:contract`.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { attack } from "../support/contract_attack.ts"
import { type ContractService, startContractService } from "../support/contract_service.ts"
import { realSuite, SCHEMATHESIS } from "../support/real_servers.ts"

const REDOCLY = "@redocly/cli@2.77.0"
const OPENAPI_TYPESCRIPT = "openapi-typescript@7.13.0"
/** The generator's peer; it does not know the product's own version. */
const TYPESCRIPT = "typescript@5.9.3"
const TSC = join(import.meta.dir, "../../node_modules/.bin/tsc")

/** What a client's author writes against the generated types, and what they must not let through. */
const USES = `
import type { components, operations, paths } from "./api.js"

type Body<Operation extends { requestBody?: { content: { "application/json": unknown } } }> =
  NonNullable<Operation["requestBody"]>["content"]["application/json"]
type Data<Content> = Content extends { content: { "application/json": { data: infer Data } } } ? Data : never

export const cheap: Body<operations["create_products"]> = { name: "Anchor chain" }
export const dear: Body<operations["create_products"]> = { name: "Anchor chain", price: 12.5 }
// @ts-expect-error a name is required
export const nameless: Body<operations["create_products"]> = { price: 1 }
// @ts-expect-error the server gives the id
export const numbered: Body<operations["create_products"]> = { id: 1, name: "a" }

type Product = Data<paths["/api/products/{id}"]["get"]["responses"][200]>
// It may be some fields of a record only: those that \`select\` names.
export const price = (product: Product): number | undefined => product.price
export const sure = (product: components["schemas"]["products"]): number => product.price
export const named = (product: components["schemas"]["products"]): Product => product
export const first = (page: Data<operations["list_products"]["responses"][200]>): Product | undefined => page[0]
export const unit = (ship: components["schemas"]["ships"]): string => ship.measures.unit

export const purge: operations["delete_job"]["parameters"] = {
  path: { id: "cam-1" },
  query: { region: "global", namespace: "default", purge: "true" },
}
// @ts-expect-error it is true or false
export const purged: operations["delete_job"]["parameters"]["query"] = { purge: "yes" }
export const scale: Body<operations["scale_job"]> = { count: 2 }
export const job: Body<operations["run_job"]> = { ID: "cam-1", TaskGroups: [{ Name: "g", Meta: { a: 1 } }] }
export const memory = (usage: Data<operations["allocation_stats"]["responses"][200]>): number => usage.MemoryStats.RSS
export const due = (list: Data<operations["unfinished_restarts"]["responses"][200]>): string[] =>
  list.map(({ dueAt, state }) => (state === "stuck" ? "never" : dueAt))
export const homes = (list: Data<operations["node_allocations"]["responses"][200]>): string[] =>
  list.NomadAllocations.map(({ JobID }) => JobID)

export const image: Body<operations["createContainer"]> = { kind: "image", imageUrl: "https://cdn.example.com/a.jpg" }
export const post: Body<operations["publishPost"]> = { key: "summer-1", kind: "image", imageUrl: "https://a.example/a" }
// @ts-expect-error a reel has no picture
export const mixed: Body<operations["createContainer"]> = { kind: "reel", imageUrl: "https://cdn.example.com/a.jpg" }
// @ts-expect-error a post needs its key
export const keyless: Body<operations["publishPost"]> = { kind: "image", imageUrl: "https://cdn.example.com/a.jpg" }
export const published = (made: operations["publishContainer"]["responses"]): string | undefined =>
  made[200].content["application/json"].data.mediaId ?? made[202].content["application/json"].data.containerId
export const used = ({ used, total }: Data<operations["publishingLimit"]["responses"][200]>): number => used / (total ?? 50)

export const refused = (answer: operations["createContainer"]["responses"][422 | 429 | 502]): string => {
  const { code, detail, errors, graphCode } = answer.content["application/problem+json"]
  return [code, detail, graphCode, ...(errors ?? []).map(({ pointer, message }) => pointer + message)].join(" ")
}
export type Statuses = {
  [Status in 400 | 401 | 408 | 413 | 415 | 422 | 503]: operations["run_job" | "publishPost" | "create_ships"]["responses"][Status]
}
export const health: paths["/health/ready"]["get"]["responses"][200]["content"]["application/json"] = { status: "ready" }
export const retry = (answer: operations["ready"]["responses"][503]): number | undefined => answer.headers["Retry-After"]
`

/** Runs a command to its end; what it printed is the reason when it fails. */
const succeeds = async (command: ReadonlyArray<string>): Promise<void> => {
  const run = Bun.spawn([...command], { stdio: ["ignore", "pipe", "pipe"] })
  const texts = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()])
  expect([await run.exited, ...texts].join("\n")).toStartWith("0\n")
}

realSuite(SCHEMATHESIS, "the contract", (command) => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-contract-"))
  const document = join(folder, "openapi.json")
  let service: ContractService

  beforeAll(async () => {
    service = await startContractService()
    writeFileSync(document, await (await fetch(`${service.url}/openapi.json`)).text())
  })
  afterAll(async () => {
    await service?.stop()
    rmSync(folder, { recursive: true })
  })

  test.each([
    ["valid", 8, "examples,fuzzing,stateful"],
    ["bad", 2, "fuzzing"],
    ["none", 2, "fuzzing"],
  ] as const)("holds against a short attack, token: %s", async (token, examples, phases) => {
    const { failures, requests, output } = await attack(service, { command, token, phases, examples, seed: 1 })
    expect(failures.length === 0 ? "" : `${failures.join("\n")}\n${output}`).toBe("")
    expect(requests).toBeGreaterThan(25)
  })

  test("has no error for a linter", async () => {
    await succeeds(["npx", "-y", REDOCLY, "lint", document])
  })

  test("becomes types that a client's author can use", async () => {
    const types = join(folder, "api.d.ts")
    const uses = join(folder, "uses.ts")
    writeFileSync(uses, USES)
    const npx = ["npx", "-y", "-p", OPENAPI_TYPESCRIPT, "-p", TYPESCRIPT]
    await succeeds([...npx, "openapi-typescript", document, "-o", types])
    await succeeds([TSC, "--ignoreConfig", "--noEmit", "--strict", "--module", "nodenext", "--types", "", uses])
  })
})
