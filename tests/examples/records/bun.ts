// On Bun the application listens by itself.
import { makeApp } from "./app.ts"
import { ask } from "./ask.ts"
import { makeRealm } from "./realm.ts"

const { publicKey, token } = await makeRealm(["harbour-master"])
const { app, created, close } = await makeApp(publicKey)

app.listen({ port: 0, hostname: "127.0.0.1" })
console.log(await ask(`http://127.0.0.1:${app.server?.port}`, token), created())

await app.stop()
await close()
