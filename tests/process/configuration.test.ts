// Wrong configuration ends the start with exit 2 and one line per mistake, which never holds a value (specification 11).
import { afterAll, describe, expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Result } from "effect"
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
  MAX_IN_FLIGHT: ["0", "must be a whole number from 1 to 100000"],
  MAX_FEEDS: ["0", "must be a whole number from 1 to 100000"],
  CORS_ORIGINS: [`https://a.example, ${MARK}`, /^entry 2 must be an origin such as /],
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
  RECORDS_URL: [`http://user:${MARK}@h`, "must not contain a user name or password"],
  OTEL_EXPORTER_OTLP_ENDPOINT: [MARK, "must be an http or https URL"],
} as const

/** Any text will do for these; some are judged by what they name, below. */
const FREE = `HOST PORTOLAN_HOME COLLECTIONS AUTH_PUBLIC_KEY AUTH_ISSUER AUTH_AUDIENCE SQLITE_PATH MONGODB_URL
  SCHEDULER_TOKEN SCHEDULER_SCALE_GROUP GRAPH_API_VERSION GRAPH_ACCOUNT_ID GRAPH_ACCESS_TOKEN GRAPH_APP_ID
  GRAPH_APP_SECRET IDP_REALM IDP_CLIENT_ID IDP_CLIENT_SECRET RECORDS_TOKEN
  OTEL_SERVICE_NAME`.split(/\s+/)

/** One a line, before the line that says what to type next. */
const mistakesOf = (stderr: string): ReadonlyArray<readonly [variable: string, rule: string]> =>
  stderr
    .replace(/Try: portolan .+\n$/, "")
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
      const { code, stdout, stderr } = await runHere(words.split(" "), { AUTH_ISUER: MARK })
      expect([code, stdout, stderr]).toEqual([
        2,
        "",
        "AUTH_ISUER is unknown; did you mean AUTH_ISSUER?\nTry: portolan config --variables\n",
      ])
    },
  )

  test.concurrent.each([
    [
      "a wrong port in MONGODB_URL",
      { MONGODB_URL: `mongodb://a:${MARK}@h:x/` },
      "MONGODB_URL",
      /^has a wrong port at host 1/,
    ],
    [
      "a typing mistake in MAX_IN_FLIGHT",
      { MAX_INFLIGHT: "5", ...serveEnvironment() },
      "MAX_INFLIGHT",
      /MAX_IN_FLIGHT\?/,
    ],
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

const CONFIG = join(import.meta.dir, "../../bootstrap/config.ts")
const RECORDS = join(import.meta.dir, "../../bootstrap/records.ts")

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
  const field = (schema: object) => collection({ fields: { type: "object", properties: { depth: schema } } })
  const load = (path: string) => Effect.runPromise(Effect.result(loadCollections(path)))
  const rulesOf = async (path: string): Promise<ReadonlyArray<string>> => {
    const result = await load(path)
    if (Result.isSuccess(result)) return []
    const { mistakes } = result.failure
    expect(mistakes.map(({ variable }) => variable)).toEqual(mistakes.map(() => "COLLECTIONS"))
    expect(result.failure.message).not.toContain(MARK)
    expect(result.failure.message.split("\n")).toHaveLength(mistakes.length)
    const start = `names '${path}': `
    for (const { rule } of mistakes) expect(rule).toStartWith(start)
    return mistakes.map(({ rule }) => rule.slice(start.length))
  }

  // Every rule of a definition is in tests/unit/records/collection_setup.test.ts; here is what the file adds.
  test.each([
    ["no JSON", `{${MARK}`, "the file is not valid JSON"],
    ["no list", { charts: {} }, /^the file's form is broken at ''/],
    ["an empty list", { collections: [] }, /^the file's form is broken at '\/collections'/],
    ["an unknown member", collection({ colour: MARK }), "collection 'charts': colour is not known"],
    [
      "a member of the wrong type",
      field({ minimum: MARK }),
      "collection 'charts', field 'depth': minimum must be number",
    ],
    [
      "a hopeless pattern",
      field({ pattern: "^(a+)+$" }),
      /^collection 'charts', field 'depth': pattern could take too long/,
    ],
    [
      "roles of no operation",
      collection({ roles: { update: ["a"] } }),
      "collection 'charts': roles.update is not known",
    ],
    [
      "a collection twice",
      { collections: [...collection({}).collections, ...collection({}).collections] },
      "the collection 'charts' is defined twice",
    ],
  ])("%s", async (_what, content, rule) => {
    const rules = await rulesOf(file(content))
    expect(rules).toHaveLength(1)
    expect(rules[0]).toMatch(rule)
  })

  test("every mistake of every collection is told", async () => {
    const [first] = field({ minimum: "1" }).collections
    const second = { name: "ships", fields: { type: "object", properties: { a: { maxLength: null } } } }
    expect(await rulesOf(file({ collections: [first, second] }))).toEqual([
      "collection 'charts', field 'depth': minimum must be number",
      "collection 'ships', field 'a': maxLength must be integer",
    ])
  })

  test("a byte order mark is skipped, and text that is not UTF-8 is refused", async () => {
    expect(await rulesOf(file(`\uFEFF${JSON.stringify(collection({}))}`))).toEqual([])
    const path = file("")
    writeFileSync(path, new Uint8Array([0x7b, 0xff, 0x7d]))
    expect(await rulesOf(path)).toEqual(["the file is not UTF-8"])
    expect(await rulesOf(join(folder, "nothing.json"))).toEqual(["the file cannot be read"])
  })

  test.each([
    ["without collections", "export const a = 1", "the module exports no collection"],
    ["with a syntax error", "const a = 1\nconst b = ;", /^FILE:2: Unexpected ;$/],
    ["with two syntax errors", "const a = 1\nexport const b = {\n  c: 1,,\n}", /^FILE:3: Expected identifier/],
    [
      "with a missing import",
      '// First\nimport { a } from "./nothing.ts"\nexport const b = a',
      /^FILE:2: Cannot find module/,
    ],
    [
      "with an unknown export",
      `import { a } from "${CONFIG}"\nexport const b = a`,
      /^FILE: Export named 'a' not found/,
    ],
    ["that throws", "const a = () => {\n  throw new Error('out of\\nink')\n}\na()", "FILE:2: out of; ink"],
    ["that throws a text", `throw "${MARK}"`, "FILE: it throws something that is no error"],
    [
      "with a wrong collection",
      `import { defineCollection } from "${RECORDS}"\nexport const a = defineCollection({ name: "charts", fields: {} })`,
      /^FILE:2: collection 'charts': fields.type is required; collection 'charts': fields.properties is required$/,
    ],
    [
      "with roles of no operation, made by hand",
      "export const a = { name: 'charts', fields: { type: 'object', properties: {} }, roles: { update: ['a'] }, check() {} }",
      "collection 'charts': roles.update is not known",
    ],
  ])("a module %s", async (_what, text, rule) => {
    const path = file(text, "ts")
    const rules = await rulesOf(path)
    expect(rules).toHaveLength(1)
    expect(rules[0]?.replaceAll(path, "FILE")).toMatch(rule)
  })

  test("a missing module, and one that imports a wrong one", async () => {
    const missing = join(folder, "nothing.ts")
    expect((await rulesOf(missing))[0]).toContain("Cannot find module")
    const wrong = file("const a = ;", "ts")
    expect(await rulesOf(file(`import ${JSON.stringify(wrong)}`, "ts"))).toEqual([`${wrong}:1: Unexpected ;`])
  })

  test("a module that lies outside every project may import the library and its schema language", async () => {
    const text = `import { defineCollection } from "portolan"
      import Type from "typebox"
      export const ships = defineCollection({ name: "ships", fields: Type.Object({ name: Type.String() }) })`
    expect(await rulesOf(file(text, "ts"))).toEqual([])
    expect(await rulesOf(file(text, "ts"))).toEqual([])
  })

  test("a module of the library's collections is taken", async () => {
    const text = `import { defineCollection } from "${RECORDS}"
      export const all = [defineCollection({ name: "charts", fields: ${JSON.stringify(fields)} })]`
    expect(await rulesOf(file(text, "ts"))).toEqual([])
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
