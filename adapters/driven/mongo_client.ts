// The driver's client, replaced by a fresh one when it has gone deaf.
//
// The driver asks each server for a heartbeat, and waits for "drain" or "error" when a socket cannot take its question at
// once. Under Bun the socket of a server that has just died says neither, only "close": the question never ends, nobody
// looks at that server again, and every operation fails long after it is back. A question that is open for longer than
// the driver itself would allow is the sign. A fresh client that finds no server closes itself for good, and is replaced too.
import type { Db, MongoClient } from "mongodb"

export interface Connected {
  readonly client: MongoClient
  readonly db: Db
}

export interface LastingClient {
  readonly current: () => Connected
  /** To be told of every failure, with the client that had it: goes on with a fresh one if that one is deaf. */
  readonly failed: (connected: Connected) => void
  readonly close: () => Promise<void>
}

/** @returns whether a heartbeat of this client has been open for too long, or it has closed itself */
const deafness = (client: MongoClient, heartbeatMs: number): (() => boolean) => {
  let closed = false
  const overdueAt = new Map<string, number>()
  client.on("serverHeartbeatStarted", ({ connectionId: server, awaited }) => {
    // An awaited heartbeat is answered when something changes, or once in a period of the heartbeat.
    const patience = heartbeatMs + (awaited ? client.options.heartbeatFrequencyMS : 0)
    overdueAt.set(server, performance.now() + patience)
  })
  client.on("serverHeartbeatSucceeded", ({ connectionId: server }) => overdueAt.delete(server))
  client.on("serverHeartbeatFailed", ({ connectionId: server }) => overdueAt.delete(server))
  client.on("serverClosed", ({ address }) => overdueAt.delete(address))
  client.on("topologyClosed", () => {
    closed = true
  })
  return () => closed || [...overdueAt.values()].some((at) => performance.now() > at)
}

/**
 * @param heartbeatMs longest that a heartbeat may take: the driver's bound on connecting, and as much for the answer
 */
export const lastingClient = (open: () => Connected, heartbeatMs: number): LastingClient => {
  const watched = () => {
    const connected = open()
    return { connected, isDeaf: deafness(connected.client, heartbeatMs) }
  }
  let current = watched()
  let ended = false
  return {
    current: () => current.connected,
    failed: (connected) => {
      if (ended || connected !== current.connected || !current.isDeaf()) return
      current = watched()
      // Nobody waits for the end of the old one, and nothing can be done about an error on its way out.
      connected.client.close(true).catch(() => {})
    },
    close: () => {
      ended = true
      return current.connected.client.close()
    },
  }
}
