// A service with a secret in every variable that may hold one, driven through everything that goes wrong; then all it wrote
// and all it answered is searched.
import { afterAll, describe, expect, test } from "bun:test"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { MASK } from "../../domain/secret_mask.ts"
import { openConnection } from "../support/raw_http.ts"
import {
  callerHeaders,
  endProcesses,
  newHome,
  runProcess,
  serveEnvironment,
  startProcess,
  stop,
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
    [`/api/products?limit[${MARKER}]=2`, { headers }],
    // A parameter that nobody knows is named where its name is a plain one, as a field is; its value never is.
    [`/api/products?${MARKER}%20with%20blanks=1`, { headers }],
    [`/api/products?colour=${MARKER}`, { headers }],
    [`/api/products?name=like.${MARKER}&price=gte.${MARKER}`, { headers }],
    [`/api/products?order=${MARKER}`, { headers }],
    [`/api/products?after=${MARKER}`, { headers }],
    [`/api/products/1?colour=${MARKER}`, { headers }],
    ["/api/products/1", { headers: { ...headers, "if-none-match": MARKER } }],
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

/** Every spelling in which a careless server may repeat what it was told. */
const spellings = (secret: string): ReadonlyArray<string> => {
  const encoded = encodeURIComponent(secret)
  const base64 = Buffer.from(secret).toString("base64")
  return [
    secret,
    encoded,
    encoded.replace(/%../g, (code) => code.toLowerCase()),
    encodeURIComponent(encoded),
    new URLSearchParams({ a: secret }).toString().slice(2),
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret)).slice(3, -3),
    secret.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
    Buffer.from(secret).toString("hex"),
    Buffer.from(secret).toString("hex").toUpperCase(),
    base64.replace(/=+$/, ""),
    encodeURIComponent(base64),
    Buffer.from(secret).toString("base64url"),
  ]
}

/** As a part of what a `Basic` header holds, for each way in which base64 may cut it. */
const inBasic = (secret: string): ReadonlyArray<string> =>
  ["me", "you", "user"].map((name) => Buffer.from(`${name}:${secret}`).toString("base64"))

/** Holds a character of every kind that some spelling writes in its own way. */
const secretOf = (name: string): string => `S3cret "${name}" a/b\\c+d&e<f>=%41|x`

/** An agent, a graph and an identity provider that repeat what they were told in every spelling, and a collector. */
const startTattler = () => {
  const collected: Array<string> = []
  const told = new Set<string>()
  const tattle = (secret: string) => {
    told.add(secret)
    return [...spellings(secret), ...inBasic(secret)].join(" ; ")
  }
  const server = Bun.serve({
    port: 0,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url)
      const body = await request.text()
      if (pathname.startsWith("/otlp")) {
        collected.push(body)
        return Response.json({})
      }
      const token = request.headers.get("x-scheduler-token")
      // A refusal's text, and an answer that is no answer, both of which are shown.
      if (token !== null) return new Response(tattle(token), { status: request.method === "GET" ? 200 : 400 })
      const parameters = new URLSearchParams(search === "" ? body : search)
      const secret = parameters.get("access_token") ?? parameters.get("client_secret") ?? ""
      const message = tattle(secret)
      return Response.json(
        { error: { message, code: 100, error_user_msg: message, fbtrace_id: secret }, error_description: message },
        { status: 400 },
      )
    },
  })
  return { url: server.url.origin, collected, told, stop: () => server.stop(true) }
}

describe("what another system says of our secrets", () => {
  test.concurrent("is in no answer, log line, span and journal, in whatever spelling it is said", async () => {
    const tattler = startTattler()
    const secrets = {
      SCHEDULER_TOKEN: secretOf("scheduler"),
      GRAPH_ACCESS_TOKEN: secretOf("graph"),
      GRAPH_APP_SECRET: secretOf("app"),
      IDP_CLIENT_SECRET: secretOf("client"),
    }
    const environment = {
      ...secrets,
      SCHEDULER_URL: tattler.url,
      SCHEDULER_LOG_LEVEL: "debug",
      GRAPH_URL: tattler.url,
      GRAPH_API_VERSION: "v25.0",
      GRAPH_ACCOUNT_ID: "1",
      GRAPH_APP_ID: "2",
      IDP_URL: tattler.url,
      IDP_REALM: "demo",
      IDP_CLIENT_ID: "portolan",
      LOG_LEVEL: "debug",
      LOG_FORMAT: "json",
    }
    const home = newHome()
    const kit = tokenKit(Math.floor(Date.now() / 1000))
    const service = startProcess(["serve"], {
      ...serveEnvironment(),
      ...environment,
      OTEL_EXPORTER_OTLP_ENDPOINT: `${tattler.url}/otlp`,
      PORTOLAN_HOME: home,
    })
    const url = await service.url()
    const headers = {
      authorization: `Bearer ${kit.access({ realm_access: { roles: ["operator", "publisher"] } })}`,
      "content-type": "application/json",
    }
    const image = { kind: "image", imageUrl: "https://cdn.example.com/a.jpg" }
    const answers: Array<string> = []
    for (const [method, path, body] of [
      ["GET", "/scheduler/jobs/x"],
      ["POST", "/scheduler/jobs", { ID: "x", Name: "x" }],
      ["POST", "/scheduler/jobs/x/scale", { count: 1 }],
      ["POST", "/scheduler/jobs/x/restart"],
      ["GET", "/scheduler/restarts"],
      ["POST", "/media/containers", image],
      ["GET", "/media/containers/1"],
      ["POST", "/media/containers/1/publish", {}],
      ["POST", "/media/posts", { key: "k", ...image }],
      ["GET", "/media/limit"],
    ] as const) {
      const answer = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      answers.push(`${answer.status} ${JSON.stringify([...answer.headers])} ${await answer.text()}`)
    }
    const commands = await Promise.all([
      runProcess(["token", "--json"], environment),
      runProcess(["media", "app-token", "--json"], environment),
    ])
    expect(await stop(service)).toBe(0)
    const files = readdirSync(home).map((name) => readFileSync(join(home, name), "latin1"))
    await tattler.stop()

    expect(tattler.told).toEqual(new Set(Object.values(secrets)))
    expect(commands.map(({ code }) => code)).toEqual([1, 1])
    expect(answers.join()).toContain(MASK)
    expect(service.stderr()).toContain(MASK)
    expect(tattler.collected.join()).toContain("/scheduler/jobs/:id")
    const written = [service.stdout(), service.stderr(), ...commands.flatMap(({ stdout, stderr }) => [stdout, stderr])]
    expectSilent(
      [...answers, ...written, ...tattler.collected, ...files],
      Object.values(secrets).flatMap((secret) => [
        ...spellings(secret),
        // Without the characters that hold bits of the name, or the end of the text.
        ...inBasic(secret).map((text) => text.slice(8, -4)),
      ]),
    )
  })
})

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
