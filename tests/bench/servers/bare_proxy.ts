// The least a proxy on node:http can be: every request goes to UPSTREAM over kept connections, both bodies by pipe, and
// nothing is judged, changed or logged.
import { Agent, createServer, request } from "node:http"

const { UPSTREAM = "", PORT = "0" } = process.env
const { hostname, port } = new URL(UPSTREAM)
const agent = new Agent({ keepAlive: true })

createServer((incoming, outgoing) => {
  const { method, url, headers } = incoming
  const sent = request({ hostname, port, agent, method, path: url, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(outgoing)
  })
  sent.on("error", () => outgoing.destroy())
  incoming.pipe(sent)
}).listen(Number(PORT), "127.0.0.1")
