// For orientation, no peer at equal work: Bun.serve that reads the token's header and a route parameter, verifies nothing
// and asks no store.
Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT),
  development: false,
  routes: {
    "/api/products/:id": (request) =>
      request.headers.get("authorization")?.startsWith("Bearer ")
        ? Response.json({
            response: "OK",
            data: { id: Number(request.params.id), name: "Anchor chain", price: 12.5 },
          })
        : new Response("Unauthorized", { status: 401 }),
  },
})
