// Wrong configuration ends the start with exit 2 and one line per mistake, which never holds a value (contract section 1).
import { afterAll, describe, expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { loadCollections } from "../../bootstrap/collections_file.ts"
import { VARIABLES } from "../../bootstrap/config.ts"
import { runHere } from "../support/command_here.ts"
import {
  callerHeaders,
  endProcesses,
  newHome,
  runProcess,
  serve,
  serveEnvironment,
  stop,
} from "../support/service_process.ts"

afterAll(endProcesses)

const MARK = "SUBMITTED"

/** A wrong value and the rule its line names. Every variable is here, or in FREE. */
const WRONG = {
  PORT: [`80${MARK}`, "must be a whole number from 0 to 65535"],
  REUSE_PORT: [MARK, "must be true or false"],
  ADMIN_PORT: ["65536", "must be a whole number from 0 to 65535"],
  LOG_LEVEL: [MARK, "must be one of debug, info, warn, error"],
  LOG_FORMAT: [MARK, "must be one of pretty, json"],
  AUTH_JWKS_URL: [`ftp://${MARK}`, "must be an http or https URL"],
  AUTH_CLOCK_TOLERANCE_S: ["-1", /^must be a whole number from 0 to \d+$/],
  AUTH_REQUIRE_TYP: [MARK, "must be true or false"],
  STORE: [MARK, "must be one of sqlite, memory, mongo"],
  MONGODB_SINGLE_WRITER: [MARK, "must be true or false"],
  DB_MAX_OPEN_CONNS: ["1.5", "must be a whole number from 1 to 100000"],
  DB_MAX_IDLE_CONNS: [MARK, "must be a whole number from 1 to 100000"],
  SCHEDULER_URL: [`http://user:${MARK}@h`, "must not contain a user name or password"],
  SCHEDULER_LOG_LEVEL: [MARK, "must be one of debug"],
  SCHEDULER_ROLES: ["a,,b", "must be a comma list of realm role names"],
  GRAPH_URL: [`http://h/?access_token=${MARK}`, "must not contain a query or fragment"],
  MEDIA_ROLES: [",", "must be a comma list of realm role names"],
  IDP_URL: [MARK, "must be an http or https URL"],
  OTEL_EXPORTER_OTLP_ENDPOINT: [MARK, "must be an http or https URL"],
} as const

/** Any text will do for these; some are judged by what they name, below. */
const FREE = `HOST PORTOLAN_HOME COLLECTIONS AUTH_PUBLIC_KEY AUTH_ISSUER AUTH_AUDIENCE SQLITE_PATH MONGODB_URL
  SCHEDULER_TOKEN SCHEDULER_SCALE_GROUP GRAPH_API_VERSION GRAPH_ACCOUNT_ID GRAPH_ACCESS_TOKEN GRAPH_APP_ID
  GRAPH_APP_SECRET IDP_REALM IDP_CLIENT_ID IDP_CLIENT_SECRET`.split(/\s+/)

const mistakesOf = (stderr: string): ReadonlyArray<readonly [variable: string, rule: string]> =>
  stderr
    .trimEnd()
    .split("\n")
    .map((line) => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)])

describe("wrong variables", () => {
  test("the table knows every variable", () => {
    expect([...Object.keys(WRONG), ...FREE].sort()).toEqual(Object.keys(VARIABLES).sort())
  })

  test.concurrent("all at once: one line each", async () => {
    const environment = Object.fromEntries(Object.entries(WRONG).map(([name, [value]]) => [name, value]))
    const { code, stdout, stderr } = await runProcess(["serve"], environment)
    expect([code, stdout]).toEqual([2, ""])
    expect(stderr).not.toContain(MARK)
    const mistakes = mistakesOf(stderr)
    expect(mistakes.map(([variable]) => variable).sort()).toEqual(Object.keys(WRONG).sort())
    for (const [variable, rule] of mistakes) expect(rule).toMatch(WRONG[variable as keyof typeof WRONG][1])
  })

  test.concurrent.each(["serve", "config", "token", "jobs get a", "media limit", "demo"])(
    "a typing mistake in a name ends '%s'",
    async (words) => {
      const { code, stdout, stderr } = await runProcess(words.split(" "), { AUTH_ISUER: MARK })
      expect([code, stdout, stderr]).toEqual([2, "", "AUTH_ISUER is unknown; did you mean AUTH_ISSUER?\n"])
    },
  )

  test.concurrent.each([
    ["no key", {}, "AUTH_PUBLIC_KEY", "is required by 'serve', or AUTH_JWKS_URL instead"],
    ["a port shared with one SQLite file", { REUSE_PORT: "true", ...serveEnvironment() }, "REUSE_PORT", /STORE=mongo/],
  ])("%s", async (_what, environment, variable, rule) => {
    const { code, stderr } = await runHere(["serve"], environment)
    expect(code).toBe(2)
    expect(mistakesOf(stderr)).toHaveLength(1)
    expect(mistakesOf(stderr)[0]?.[0]).toBe(variable)
    expect(mistakesOf(stderr)[0]?.[1]).toMatch(rule)
  })
})

describe("COLLECTIONS", () => {
  const folder = newHome()
  mkdirSync(folder, { recursive: true })
  let files = 0
  const file = (content: unknown, ending = "json"): string => {
    const path = join(folder, `collections${files++}.${ending}`)
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content))
    return path
  }
  const fields = { type: "object", properties: { name: { type: "string", minLength: 1 } }, required: ["name"] }
  const collection = (more: object) => ({ collections: [{ name: "charts", fields, ...more }] })
  const field = (schema: object) => collection({ fields: { ...fields, properties: { depth: schema } } })

  test.each([
    ["no JSON", `{${MARK}`, "is not valid JSON"],
    ["no list", { charts: {} }, /^breaks the file's form/],
    ["an empty list", { collections: [] }, /^breaks the file's form at '\/collections'/],
    [
      "an unknown member",
      collection({ colour: MARK }),
      /^breaks the file's form at '\/collections\/0\/colour': is not known/,
    ],
    ["a bad name", collection({ name: "Charts" }), /Collection name must match/],
    [
      "a field 'id'",
      collection({ fields: { type: "object", properties: { id: { type: "integer" } } } }),
      /'charts'.*'id'/,
    ],
    [
      "an unknown keyword",
      field({ type: "string", minLenght: 1 }),
      "collection 'charts': fields.depth has the unsupported keyword 'minLenght'",
    ],
    ["an unknown type", field({ type: "text" }), /^collection 'charts': fields\.depth\.type must be one of/],
    ["a broken pattern", field({ type: "string", pattern: "(" }), /./],
    [
      "an empty role list",
      collection({ roles: { list: [] } }),
      /^breaks the file's form at '\/collections\/0\/roles\/list'/,
    ],
    [
      "roles of no operation",
      collection({ roles: { update: ["a"] } }),
      /^breaks the file's form at '\/collections\/0\/roles\/update': is not known/,
    ],
    [
      "a collection twice",
      { collections: [...collection({}).collections, ...collection({}).collections] },
      "defines the collection 'charts' twice",
    ],
  ])("%s", async (_what, content, rule) => {
    const refusal = await Effect.runPromise(Effect.flip(loadCollections(file(content))))
    expect(refusal.mistakes.map(({ variable }) => variable)).toEqual(["COLLECTIONS"])
    expect(refusal.mistakes[0]?.rule).toMatch(rule)
    expect(refusal.message).not.toContain(MARK)
    expect(refusal.message.split("\n")).toHaveLength(1)
  })

  test.each([
    ["a missing file", () => join(folder, "nothing.json"), "names a file that cannot be read"],
    ["a missing module", () => join(folder, "nothing.ts"), "names a module that cannot be loaded"],
    [
      "a module without collections",
      () => file("export const a = 1", "ts"),
      "names a module that exports no collection",
    ],
    ["a module that throws", () => file("throw new Error('a')", "mjs"), "names a module that cannot be loaded"],
  ])("%s", async (_what, path, rule) => {
    const refusal = await Effect.runPromise(Effect.flip(loadCollections(path())))
    expect(refusal.message).toBe(`COLLECTIONS ${rule}`)
  })

  test.concurrent("a wrong file ends the start, a good one is served with its rules and roles", async () => {
    const bad = await runHere(["serve"], { ...serveEnvironment(), COLLECTIONS: file({ collections: [] }) })
    expect([bad.code, mistakesOf(bad.stderr)[0]?.[0]]).toEqual([2, "COLLECTIONS"])

    const pem = serveEnvironment()["AUTH_PUBLIC_KEY"] ?? ""
    const good = await serve({
      // As an environment file holds it: one line, escaped, quoted.
      AUTH_PUBLIC_KEY: ` "${pem.replaceAll("\n", "\\n")}" `,
      COLLECTIONS: file(collection({ roles: { create: ["nobody"] } })),
    })
    const status = async (path: string, init: RequestInit = {}) =>
      (await fetch(`${good.address}${path}`, { ...init, headers: callerHeaders() })).status
    expect(await status("/api/charts")).toBe(200)
    expect(await status("/api/charts", { method: "POST", body: '{"name":"a"}' })).toBe(403)
    expect(await status("/api/products")).toBe(404)
    expect(await stop(good)).toBe(0)
  })
})
