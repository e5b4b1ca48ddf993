// Peer: Elysia with its own schemas, jose, a map of verified tokens, bun:sqlite.
import { Database } from "bun:sqlite"
import { readFileSync } from "node:fs"
import { Elysia, t } from "elysia"
import { importSPKI, jwtVerify } from "jose"

const { PORT, DB_FILE, KEY_FILE, ISSUER } = process.env

const db = new Database(DB_FILE)
db.run("PRAGMA journal_mode = WAL")
db.run("PRAGMA synchronous = FULL")
db.run(
  "CREATE TABLE IF NOT EXISTS products (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, price REAL NOT NULL)",
)
const get = db.query("SELECT id, name, price FROM products WHERE id = ?")
const list = db.query("SELECT id, name, price FROM products ORDER BY id LIMIT ? OFFSET ?")
const insert = db.query("INSERT INTO products (name, price) VALUES (?, ?) RETURNING id, name, price")

const key = await importSPKI(readFileSync(KEY_FILE, "utf8"), "RS256")
const KNOWN_MAX = 10_000
const known = new Map()

/** Claims of a token; one that is known is not verified again until it expires. */
const claimsOf = async (token) => {
  const claims = known.get(token)
  if (claims !== undefined && claims.exp * 1000 > Date.now()) return claims
  const { payload } = await jwtVerify(token, key, { algorithms: ["RS256"], issuer: ISSUER, requiredClaims: ["exp"] })
  if (known.size >= KNOWN_MAX) known.delete(known.keys().next().value)
  known.set(token, payload)
  return payload
}

new Elysia()
  .onBeforeHandle(async ({ headers: { authorization }, status }) => {
    if (!authorization?.startsWith("Bearer ")) return status(401, "Unauthorized")
    try {
      const claims = await claimsOf(authorization.slice(7))
      if (!claims.realm_access?.roles?.includes("user")) return status(403, "Forbidden")
    } catch {
      return status(401, "Unauthorized")
    }
  })
  .get(
    "/api/products/:id",
    ({ params, status }) => {
      const data = get.get(params.id)
      return data === null ? status(404, "Not Found") : { response: "OK", data }
    },
    { params: t.Object({ id: t.Number() }) },
  )
  .get("/api/products", ({ query }) => ({ response: "OK", data: list.all(query.limit, query.start) }), {
    query: t.Object({
      start: t.Number({ minimum: 0, default: 0 }),
      limit: t.Number({ minimum: 0, maximum: 1000, default: 100 }),
    }),
  })
  .post(
    "/api/products",
    ({ body, status }) => status(201, { response: "OK", data: insert.get(body.name, body.price) }),
    { body: t.Object({ name: t.String({ minLength: 1 }), price: t.Number({ minimum: 0, default: 0 }) }) },
  )
  .listen({ port: Number(PORT), hostname: "127.0.0.1" })
