// Passes TCP on from one local port to another, in a process of its own: killing it ends every connection at once, as the
// death of the server behind it would.
import { connect, createServer } from "node:net"

const [from, host, to] = process.argv.slice(2)

createServer((client) => {
  const upstream = connect(Number(to), host)
  const end = () => {
    client.destroy()
    upstream.destroy()
  }
  upstream.on("error", end).on("close", end)
  client.on("error", end).on("close", end)
  client.pipe(upstream).pipe(client)
}).listen(Number(from), "127.0.0.1", () => process.stdout.write("ready\n"))
