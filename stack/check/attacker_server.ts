import type { KeyObject } from "node:crypto"
import { createServer } from "node:http"
import { exportJWK } from "jose"
import { listen } from "../loopback.ts"

/** The server of an attacker. */
export interface AttackerServer {
  readonly url: string
  /** How often anybody asked it for anything. */
  readonly fetches: () => number
  readonly close: () => void
}

/** Publishes an attacker's keys, and counts who fetches them. */
export const startAttackerServer = async (key: KeyObject): Promise<AttackerServer> => {
  let fetches = 0
  const jwk = await exportJWK(key)
  const keys = JSON.stringify({ keys: [{ kty: jwk.kty, n: jwk.n, e: jwk.e, kid: "evil", alg: "RS256", use: "sig" }] })
  const server = createServer((request, response) => {
    fetches++
    request.resume()
    response.setHeader("content-type", "application/json")
    const { port } = server.address() as { port: number }
    const at = `http://127.0.0.1:${port}`
    response.end(request.url?.includes("well-known") ? JSON.stringify({ issuer: at, jwks_uri: `${at}/keys` }) : keys)
  })
  await listen(server, 0)
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}`, fetches: () => fetches, close: () => void server.close() }
}
