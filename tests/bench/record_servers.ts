// The servers that records.ts measures: the product and its peers, how each is started, and the proof that each answers
// rightly. Every one checks the same signature, issuer, expiry and realm role, and keeps the same rows in SQLite with
// `journal_mode=WAL` and `synchronous=FULL`.
import { deepStrictEqual } from "node:assert/strict"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { products } from "../../domain/records/products.ts"
import { ISSUER, KEYS, pemOf, signToken, tokenKit } from "../support/tokens.ts"
import { type ServerProcess, startServer } from "./load.ts"

export type RecordServerName = "portolan" | "elysia" | "fastify" | "hono" | "gin" | "bun" | "elysia-bare"

/** A server to be measured. */
export interface RecordServer {
  readonly name: RecordServerName
  /** What it is made of, for the tables. */
  readonly title: string
  readonly command: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  /** `fixed`: no store, every id gives the same fields. `open`: `fixed`, and no token is asked for. */
  readonly kind: "full" | "fixed" | "open"
}

const ROOT = join(import.meta.dir, "../..")
const ROLE = "user"

/** Body of a create. */
export const FIELDS = { name: "Anchor chain", price: 12.5 }

/** Rows in every store before the first load. */
const ROWS = 1000

const now = Math.floor(Date.now() / 1000)
const kit = tokenKit(now)
const EXPIRES = { exp: now + 36_000 }

/** A token that every server accepts; no two are the same. */
export const acceptedToken = (): string => kit.access({ ...EXPIRES, jti: crypto.randomUUID() })

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const REFUSED: ReadonlyArray<readonly [what: string, token: string | undefined, status: number]> = [
  ["no token", undefined, 401],
  ["a token signed by another key", signToken(kit.header, { ...kit.claims, ...EXPIRES }, KEYS.other().privateKey), 401],
  ["an expired token", kit.access({ exp: now - 60 }), 401],
  ["a token of another issuer", kit.access({ ...EXPIRES, iss: "http://elsewhere/realms/demo" }), 401],
  ["a token without the role", kit.access({ ...EXPIRES, realm_access: { roles: ["guest"] } }), 403],
]

/**
 * Every server that can be started here; the one written in Go only where it was built.
 *
 * @param folder for databases, keys and settings of this run
 * @param peers the folder that install.sh filled
 */
export const recordServers = async (folder: string, peers: string): Promise<ReadonlyArray<RecordServer>> => {
  const key = pemOf(KEYS.realm().publicKey)
  const [keyFile, collections] = [join(folder, "key.pem"), join(folder, "collections.json")]
  const roles = { list: [ROLE], get: [ROLE], create: [ROLE], delete: [ROLE] }
  await Bun.write(keyFile, key)
  await Bun.write(collections, JSON.stringify({ collections: [{ name: "products", fields: products.fields, roles }] }))
  const peerEnv = (name: string) => ({
    DB_FILE: join(folder, `${name}.sqlite`),
    KEY_FILE: keyFile,
    ISSUER,
    NODE_ENV: "production",
    GIN_MODE: "release",
  })
  const bun = (file: string) => [process.execPath, join(peers, file)]
  const peer = (
    name: RecordServerName,
    title: string,
    command: ReadonlyArray<string>,
    kind: RecordServer["kind"] = "full",
  ): RecordServer => ({ name, title, command, kind, env: peerEnv(name) })

  const gin = join(peers, "gin/server")
  return [
    {
      name: "portolan",
      title: "Portolan",
      kind: "full",
      command: [process.execPath, join(ROOT, "bootstrap/main.ts"), "serve"],
      // No access log: none of the peers writes one.
      env: {
        AUTH_PUBLIC_KEY: key,
        AUTH_ISSUER: ISSUER,
        COLLECTIONS: collections,
        STORE: "sqlite",
        PORTOLAN_HOME: folder,
        LOG_LEVEL: "warn",
      },
    },
    peer("elysia", "Elysia, jose, token map, bun:sqlite", bun("elysia/server.mjs")),
    peer("fastify", "Fastify, @fastify/jwt with cache, better-sqlite3", ["node", join(peers, "fastify/server.mjs")]),
    peer("hono", "Hono, its JWT middleware, bun:sqlite", bun("hono/server.mjs")),
    ...(existsSync(gin) ? [peer("gin", "gin, golang-jwt, token cache, go-sqlite3", [gin])] : []),
    peer("bun", "bare Bun.serve, for orientation", bun("bun/server.mjs"), "fixed"),
    peer("elysia-bare", "bare Elysia", bun("elysia/bare.mjs"), "open"),
  ]
}

/** Starts a server, and waits until it gives the first record. */
export const startToFirstRecord = (server: RecordServer, token: string): Promise<ServerProcess> =>
  startServer(server.command, server.env, { sign: { path: "/api/products/1", headers: bearer(token), status: 200 } })

const record = (id: number) => ({ id, ...FIELDS })
const records = (count: number) => Array.from({ length: count }, (_, at) => record(at + 1))

const create = (url: string, token: string): Promise<Response> =>
  fetch(`${url}/api/products`, {
    method: "POST",
    headers: { ...bearer(token), "content-type": "application/json" },
    body: JSON.stringify(FIELDS),
  })

/**
 * Proves that a running server gives what it is asked for and refuses what it must.
 *
 * @throws AssertionError naming the server and the request that was answered wrongly
 */
const prove = async ({ name, kind }: RecordServer, url: string, token: string): Promise<void> => {
  const expectAnswer = async (what: string, answer: Response, status: number, data?: unknown): Promise<void> => {
    const text = await answer.text()
    deepStrictEqual(answer.status, status, `${name}: ${what}: status ${answer.status}`)
    if (data !== undefined) deepStrictEqual(JSON.parse(text), { response: "OK", data }, `${name}: ${what}: ${text}`)
  }
  const get = (path: string) => fetch(url + path, { headers: bearer(token) })
  await expectAnswer("get", await get("/api/products/7"), 200, record(7))
  if (kind === "open") return
  // Twice: a server that remembers tokens must not remember that it saw this one.
  for (const [what, refused, status] of kind === "full" ? REFUSED : REFUSED.slice(0, 1))
    for (let time = 0; time < 2; time++) {
      const headers = refused === undefined ? {} : bearer(refused)
      await expectAnswer(what, await fetch(`${url}/api/products/7`, { headers }), status)
    }
  if (kind === "fixed") return
  await expectAnswer("list of 100", await get("/api/products?limit=100"), 200, records(100))
  await expectAnswer("list of 1000", await get("/api/products?limit=1000"), 200, records(1000))
  await expectAnswer("absent record", await get(`/api/products/${ROWS + 1}`), 404)
  await expectAnswer("create", await create(url, token), 201, record(ROWS + 1))
  await expectAnswer("get what was created", await get(`/api/products/${ROWS + 1}`), 200, record(ROWS + 1))
}

/**
 * Starts a server to be put under load, fills its empty store with the same rows as every other, and proves its answers.
 *
 * @throws AssertionError when it answers wrongly; it is stopped then
 */
export const startFilledAndProved = async (server: RecordServer, token: string): Promise<ServerProcess> => {
  const running = await startServer(server.command, server.env, { pinned: true })
  try {
    for (let rows = 0; server.kind === "full" && rows < ROWS; rows += 50)
      await Promise.all(Array.from({ length: 50 }, () => create(running.url, token)))
    await prove(server, running.url, token)
    return running
  } catch (failure) {
    await running.stop()
    throw failure
  }
}
