// On Node 22 or newer @hono/node-server hands requests of Node's own server to the application.
import { once } from "node:events"
import { serve } from "@hono/node-server"
import { makeApp } from "./app.ts"
import { ask } from "./ask.ts"
import { makeRealm } from "./realm.ts"

const { publicKey, token } = await makeRealm(["harbour-master"])
const { app, created, close } = await makeApp(publicKey)

const server = serve({ fetch: (request) => app.fetch(request), port: 0, hostname: "127.0.0.1" })
await once(server, "listening")
const address = server.address()
const port = typeof address === "object" ? address?.port : undefined
console.log(await ask(`http://127.0.0.1:${port}`, token), created())

server.close()
await close()
