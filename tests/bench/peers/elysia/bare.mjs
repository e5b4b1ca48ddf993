// The least an Elysia server can be; only its first answer after start is measured.
import { Elysia } from "elysia"

new Elysia()
  .get("/api/products/:id", ({ params }) => ({
    response: "OK",
    data: { id: Number(params.id), name: "Anchor chain", price: 12.5 },
  }))
  .listen({ port: Number(process.env.PORT), hostname: "127.0.0.1" })
