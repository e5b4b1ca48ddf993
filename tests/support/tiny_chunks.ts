// An attack on the memory of whoever reads a body: bytes one by one, each in a chunk with a long extension. A reader that
// keeps the byte may keep the whole buffer it came in, and a limit on the bytes of a body never counts that.
import { connect } from "node:net"
import type { StackState } from "../../stack/state.ts"
import { tokenSourceOf, userTokens } from "../../stack/token.ts"
import { forgetPeak, memoryOf } from "./process_figures.ts"
import { callerHeaders } from "./service_process.ts"

const CONNECTIONS = 4

/** Characters of an extension. A service reads at most 1 MiB of a body, and 300 MB in all: the extensions are the attack. */
const EXTENSION = 1000

const CHUNK = Buffer.from(`1;x=${"e".repeat(EXTENSION)}\r\na\r\n`.repeat(64))

/** A request that carries the attack, and the processes it may hurt. */
export interface Attack {
  readonly name: string
  readonly url: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Status of the answer, which shows that the request took the way it was meant to take. */
  readonly status: number
  /** Name of a process -> its id. */
  readonly processes: Readonly<Record<string, number>>
}

/** What an attack did. */
export interface Outcome {
  readonly statuses: ReadonlyArray<number>
  /** Name of a process -> bytes by which the most memory it held exceeded what it held before. */
  readonly grown: Readonly<Record<string, number>>
}

/** Attacks on the routes of a service: creating, and routes that refuse. */
export const attacksOnService = (url: string, pid: number): ReadonlyArray<Attack> => {
  const { authorization = "", ...type } = callerHeaders()
  const at = (name: string, path: string, status: number, headers: Attack["headers"]): Attack => ({
    name: `service: ${name}`,
    url,
    path,
    status,
    headers: { ...type, ...headers },
    processes: { service: pid },
  })
  return [
    at("create without a token", "/api/products", 401, {}),
    at("create with a token", "/api/products", 400, { authorization }),
    at("a path that is not there", "/nowhere", 404, {}),
    at("a method that is not allowed", "/api/products/1", 405, { authorization }),
  ]
}

/** Attacks on the routes of a gateway of line 2.8, which has every policy: forwarded and refused requests. */
export const attacksOnGateway = async ({ urls, processes, ...state }: StackState): Promise<ReadonlyArray<Attack>> => {
  const { access } = await userTokens(tokenSourceOf({ urls, processes, ...state }))
  const authorization = `Bearer ${access}`
  const at = (name: string, path: string, status: number, headers: Attack["headers"] = {}): Attack => ({
    name: `gateway: ${name}`,
    url: urls.proxy,
    path,
    status,
    headers,
    processes: Object.fromEntries(
      processes.filter(({ service }) => service !== "idp").map(({ service, pid }) => [service, pid]),
    ),
  })
  return [
    at("/open/allowed", "/open/allowed", 200),
    at("/open, a path that is not allowed", "/open/secret", 403),
    at("/jwt with a token", "/jwt/x", 200, { authorization }),
    at("/jwt without a token", "/jwt/x", 401),
    at("/oidc without a session", "/oidc/x", 302),
    at("a path that is not there", "/nowhere", 404),
  ]
}

/** Sends so many bytes on one connection; gives the status of the answer, which may come before the last of them. */
const send = ({ url, path, headers }: Attack, bytes: number): Promise<number> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    let received = ""
    let left = bytes
    const endWhenDone = () => {
      if (left <= 0 && received !== "") socket.destroy()
    }
    const more = () => {
      while (left > 0) {
        left -= CHUNK.length
        if (!socket.write(CHUNK)) {
          socket.once("drain", more)
          return
        }
      }
      socket.write("0\r\n\r\n", endWhenDone)
    }
    const lines = Object.entries({ ...headers, host: "h", "transfer-encoding": "chunked" })
    socket.write(`POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`)
    socket.on("data", (data) => {
      received += data.toString("latin1").slice(0, 64)
      endWhenDone()
    })
    // A server may close the connection of a request that it has refused while the rest is still being sent.
    socket.on("error", () => {})
    socket.on("close", () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(received)?.[1])))
    more()
  })

/**
 * Makes an attack and measures the processes. Linux only: it reads `/proc`.
 *
 * @param bytes on the wire, over all connections
 */
export const attack = async (made: Attack, bytes: number): Promise<Outcome> => {
  const processes = Object.entries(made.processes)
  const before = processes.map(([, pid]) => {
    forgetPeak(pid)
    return memoryOf(pid)
  })
  const statuses = await Promise.all(Array.from({ length: CONNECTIONS }, () => send(made, bytes / CONNECTIONS)))
  const grown = processes.map(([name, pid], at) => [name, memoryOf(pid, "VmHWM") - (before[at] ?? 0)] as const)
  return { statuses, grown: Object.fromEntries(grown) }
}
