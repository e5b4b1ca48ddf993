// A service with a secret in every variable that may hold one, driven through everything that goes wrong; then all it wrote
// and all it answered is searched.
import { afterAll, describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { openConnection } from "../support/raw_http.ts"
import {
  callerHeaders,
  endProcesses,
  newHome,
  runProcess,
  serveEnvironment,
  startProcess,
} from "../support/service_process.ts"
import { KEYS, tokenKit } from "../support/tokens.ts"

afterAll(endProcesses)

const SECRETS = {
  SCHEDULER_TOKEN: "Secret-1-scheduler",
  GRAPH_ACCESS_TOKEN: "Secret-2-graph",
  GRAPH_APP_SECRET: "Secret-3-app",
  IDP_CLIENT_SECRET: "Secret-4-client",
  MONGODB_URL: "mongodb://catalogue:Secret-5-mongo@127.0.0.1:1/charts",
}

/** Stands in every value that a client submits, and in keys that no field could have. */
const MARKER = "Marker-5e1d"

/** What only a driver, a runtime or a stack trace would say. */
const DRIVER_TEXTS = [
  "SQLITE",
  "database is locked",
  "ERR_",
  "ECONN",
  "TypeError",
  "SyntaxError",
  "node_modules",
  "    at ",
  ".ts:",
]

const shownAnywhere = (texts: ReadonlyArray<string>, needles: ReadonlyArray<string>): ReadonlyArray<string> =>
  needles.filter((needle) => texts.some((text) => text.includes(needle)))

/** Everything a caller can get wrong, with the marker in it. */
const mistakes = (): ReadonlyArray<readonly [path: string, init: RequestInit]> => {
  const headers = callerHeaders()
  const kit = tokenKit(Math.floor(Date.now() / 1000))
  const bad = (authorization: string): RequestInit => ({ headers: { authorization } })
  const post = (body: string, more: Record<string, string> = {}): RequestInit => ({
    method: "POST",
    body,
    headers: { ...headers, ...more },
  })
  return [
    [`/api/products?access_token=${MARKER}`, {}],
    ["/api/products", bad(`Bearer ${MARKER}`)],
    ["/api/products", bad(`Basic ${MARKER}`)],
    ["/api/products", bad(`Bearer ${kit.access({ exp: 1, sub: MARKER })}`)],
    ["/api/products", bad(`Bearer ${kit.access({ iss: MARKER })}`)],
    ["/api/products", bad(`Bearer ${kit.idToken({ sub: MARKER })}`)],
    [`/api/products?limit=${MARKER}&start=${MARKER}`, { headers }],
    [`/api/products?${MARKER}=1&limit[${MARKER}]=2`, { headers }],
    [`/api/products/1?${MARKER}`, { headers }],
    ["/api/products", post(`{"name":"${MARKER}`)],
    ["/api/products", post(`{"name":"${MARKER}","price":-1}`)],
    ["/api/products", post(`{"name":{"$gt":"${MARKER}"},"price":"${MARKER}"}`)],
    ["/api/products", post(`{"name":"a","${MARKER} with blanks":1,"id":"${MARKER}"}`)],
    ["/api/products", post(`"${MARKER}"`)],
    ["/api/products", post(MARKER, { "content-type": `text/${MARKER}` })],
    ["/api/products", post(MARKER, { "content-encoding": MARKER })],
    ["/api/products", post(`{"name":"${MARKER}${"a".repeat(1_048_576)}"}`)],
    ["/api/products", { method: "PATCH", body: MARKER, headers }],
    [
      "/api/products",
      { headers: { ...headers, "x-request-id": `${MARKER} with blanks`, cookie: MARKER, prefer: MARKER } },
    ],
  ]
}

const expectSilent = (texts: ReadonlyArray<string>, needles: ReadonlyArray<string>) =>
  expect(shownAnywhere(texts, needles)).toEqual([])

describe("secrets, submitted values and driver texts", () => {
  test.concurrent("are in nothing that a running service writes or answers", async () => {
    const home = newHome()
    const service = startProcess(["serve"], {
      ...serveEnvironment(),
      ...SECRETS,
      AUTH_ISSUER: tokenKit(0).issuer,
      LOG_LEVEL: "debug",
      LOG_FORMAT: "json",
      PORTOLAN_HOME: home,
    })
    const url = await service.url()
    const answers: Array<string> = []
    const ask = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(`${url}${path}`, init)
      answers.push(`${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`)
      return response.status
    }
    const statuses = new Set<number>()
    for (const [path, init] of mistakes()) statuses.add(await ask(path, init))
    expect([...statuses].sort()).toEqual([200, 400, 401, 404, 405, 413, 415, 422])

    const cutOff = await openConnection(url)
    cutOff.socket.end(
      `POST /api/products HTTP/1.1\r\nHost: ${MARKER}\r\nAuthorization: ${callerHeaders()["authorization"]}\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{"name":"${MARKER}`,
    )
    await cutOff.closed

    // Another process holds the store: a create waits, then gives up.
    const other = new DatabaseSync(join(home, "records.sqlite"))
    other.exec("BEGIN IMMEDIATE")
    const create = { method: "POST", body: JSON.stringify({ name: MARKER }), headers: callerHeaders() }
    expect(await ask("/api/products", create)).toBe(503)
    other.exec("ROLLBACK")
    other.close()
    expectSilent(answers, [MARKER])
    expect(await ask("/health/ready")).toBe(200)
    expect(await ask("/metrics", { headers: callerHeaders() })).toBe(200)

    service.signal("SIGTERM")
    expect(await service.ended).toBe(0)
    expect(service.stderr()).toMatch(/Cannot use the store as user '.*' at '.*', database '.*': /)
    expectSilent([service.stdout(), service.stderr()], [MARKER])
    expectSilent([service.stdout(), service.stderr(), ...answers], [...Object.values(SECRETS), "Secret-", "eyJ"])
    expectSilent(answers, DRIVER_TEXTS)
  })

  test.concurrent("a store that is away at start: exit 1, naming user, host and database, never the password", async () => {
    const { code, stdout, stderr } = await runProcess(["serve"], { ...serveEnvironment(), ...SECRETS, STORE: "mongo" })
    expect([code, stdout]).toEqual([1, ""])
    expect(stderr).toContain("Cannot use the store as user 'catalogue' at '127.0.0.1:1', database 'charts'")
    expectSilent([stderr], ["Secret-", "    at "])
  })

  test.concurrent("an SQLite file that is none: exit 1, and nothing of its content", async () => {
    const home = newHome()
    writeFileSync(join(home, "records.sqlite"), `${MARKER} is no database `.repeat(200))
    const { code, stderr } = await runProcess(["serve"], { ...serveEnvironment(), PORTOLAN_HOME: home })
    expect(code).toBe(1)
    expect(stderr).toContain("Cannot use the store")
    expectSilent([stderr], [MARKER, "    at "])
  })

  test.concurrent("a wrong configuration names variables, not values", async () => {
    const privateKey = String(KEYS.realm().privateKey.export({ type: "pkcs8", format: "pem" }))
    const { code, stdout, stderr } = await runProcess(["serve"], { ...SECRETS, AUTH_PUBLIC_KEY: privateKey })
    expect([code, stdout]).toEqual([2, ""])
    expect(stderr).toMatch(/^AUTH_PUBLIC_KEY .{5}/)
    expectSilent([stderr], ["Secret-", "PRIVATE KEY-", privateKey.slice(100, 150), "    at "])
  })
})
