// The driver's client, replaced by a fresh one when it has stopped watching its servers.
//
// The driver sends each server a heartbeat and waits for its answer; when a socket cannot take a message at once, it waits
// for "drain" or "error". Under Bun 1.4.5 the socket of a server that has just died emits neither, only "close". That
// heartbeat never ends, the driver sends that server no other one, and every operation fails long after the server is back.
// So a client with a heartbeat that is open for longer than the driver allows is replaced. A client that finds no server
// when it connects closes itself for good, and is replaced too.
import type { Db, MongoClient } from "mongodb"

/** A client of the driver, and the database it is used for. */
export interface Connected {
  readonly client: MongoClient
  readonly db: Db
}

/** A client that goes on when the driver's own one has stopped. */
export interface LastingClient {
  /** The client to use for the next operation. */
  readonly current: () => Connected
  /** To be called after every failed operation, with the client that ran it: replaces that client if it has stopped. */
  readonly failed: (connected: Connected) => void
  /** Closes the client; none is opened afterwards. */
  readonly close: () => Promise<void>
}

/** @returns whether a heartbeat of this client has been open for too long, or the client has closed itself */
const watch = (client: MongoClient, heartbeatMs: number): (() => boolean) => {
  let closed = false
  const overdueAt = new Map<string, number>()
  client.on("serverHeartbeatStarted", ({ connectionId: server, awaited }) => {
    // An awaited heartbeat is answered when something changes, or once in a period of the heartbeat.
    const patienceMs = heartbeatMs + (awaited ? client.options.heartbeatFrequencyMS : 0)
    overdueAt.set(server, performance.now() + patienceMs)
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
 * Opens a client, and another one whenever it has stopped.
 *
 * @param open makes a client, which connects at its first operation
 * @param heartbeatMs longest that a heartbeat may take: the driver's bound on connecting, and as much for the answer
 */
export const lastingClient = (open: () => Connected, heartbeatMs: number): LastingClient => {
  const watched = () => {
    const connected = open()
    return { connected, hasStopped: watch(connected.client, heartbeatMs) }
  }
  let current = watched()
  let ended = false
  return {
    current: () => current.connected,
    failed: (connected) => {
      if (ended || connected !== current.connected || !current.hasStopped()) return
      current = watched()
      // Its servers are gone or unwatched: an error while it closes says nothing that its operations have not said.
      connected.client.close(true).catch(() => {})
    },
    close: () => {
      ended = true
      return current.connected.client.close()
    },
  }
}
