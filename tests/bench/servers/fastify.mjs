// The peer: Fastify with @fastify/jwt, its cache of verified tokens on, records in a Map. Runs on Node.
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"

const require = createRequire(`${process.env.PEERS}/`)
const app = require("fastify")({ logger: false })

app.register(require("@fastify/jwt"), {
  secret: { public: readFileSync(process.env.KEY_FILE, "utf8"), private: "" },
  verify: { algorithms: ["RS256"], cache: true },
})

const records = new Map(
  Array.from({ length: 1000 }, (_, at) => [at + 1, { id: at + 1, name: "Anchor chain", price: 12.5 }]),
)
const protect = { onRequest: async (request) => request.jwtVerify() }
const record = {
  type: "object",
  properties: { id: { type: "integer" }, name: { type: "string" }, price: { type: "number" } },
}
const envelope = (data) => ({
  response: { "2xx": { type: "object", properties: { response: { type: "string" }, data } } },
})

app.get("/api/products/:id", { ...protect, schema: envelope(record) }, async (request, reply) => {
  const data = records.get(Number(request.params.id))
  reply.header("x-request-id", request.id)
  return data === undefined ? reply.code(404).send() : { response: "OK", data }
})
app.get("/api/products", { ...protect, schema: envelope({ type: "array", items: record }) }, async (request, reply) => {
  const { start = 0, limit = 100 } = request.query
  reply.header("x-request-id", request.id)
  return {
    response: "OK",
    data: [...records.values()].slice(Number(start), Number(start) + Math.min(Number(limit), 1000)),
  }
})
app.post(
  "/api/products",
  {
    ...protect,
    schema: {
      body: {
        type: "object",
        additionalProperties: false,
        required: ["name"],
        properties: { name: { type: "string", minLength: 1 }, price: { type: "number", minimum: 0, default: 0 } },
      },
      ...envelope(record),
    },
  },
  async (request, reply) => {
    const data = { id: records.size + 1, ...request.body }
    records.set(data.id, data)
    reply.code(201).header("x-request-id", request.id)
    return { response: "OK", data }
  },
)

await app.listen({ port: Number(process.env.PORT), host: "127.0.0.1" })
