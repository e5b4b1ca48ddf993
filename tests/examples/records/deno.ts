// On Deno its own server calls the application.
import { makeApp } from "./app.ts"
import { ask } from "./ask.ts"
import { makeRealm } from "./realm.ts"

const { publicKey, token } = await makeRealm(["harbour-master"])
const { app, created, close } = await makeApp(publicKey)

const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => app.fetch(request))
console.log(await ask(`http://127.0.0.1:${server.addr.port}`, token), created())

await server.shutdown()
await close()
