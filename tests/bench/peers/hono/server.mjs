// Peer: Hono with its JWT middleware, which keeps no verified tokens, and bun:sqlite.
import { Database } from "bun:sqlite"
import { readFileSync } from "node:fs"
import { Hono } from "hono"
import { HTTPException } from "hono/http-exception"
import { jwt } from "hono/jwt"
import { validator } from "hono/validator"

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

// A key that was imported once: the middleware would import one given as PEM at every request.
const pem = readFileSync(KEY_FILE, "utf8").replace(/-----[A-Z ]+-----|\s/g, "")
const secret = await crypto.subtle.importKey(
  "spki",
  Buffer.from(pem, "base64"),
  { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
  false,
  ["verify"],
)

const app = new Hono()

app.use("/api/*", jwt({ secret, alg: "RS256", verification: { iss: ISSUER } }))
app.use("/api/*", async (c, next) => {
  if (!c.get("jwtPayload").realm_access?.roles?.includes("user")) throw new HTTPException(403)
  await next()
})

app.get("/api/products/:id", (c) => {
  const data = get.get(Number(c.req.param("id")))
  return data === null ? c.notFound() : c.json({ response: "OK", data })
})

app.get("/api/products", (c) => {
  const start = Number(c.req.query("start") ?? 0)
  const limit = Math.min(Number(c.req.query("limit") ?? 100), 1000)
  return c.json({ response: "OK", data: list.all(limit, start) })
})

const fields = validator("json", ({ name, price = 0 }, c) =>
  typeof name === "string" && name !== "" && typeof price === "number" && price >= 0
    ? { name, price }
    : c.text("Invalid", 422),
)
app.post("/api/products", fields, (c) => {
  const { name, price } = c.req.valid("json")
  return c.json({ response: "OK", data: insert.get(name, price) }, 201)
})

Bun.serve({ hostname: "127.0.0.1", port: Number(PORT), fetch: app.fetch })
