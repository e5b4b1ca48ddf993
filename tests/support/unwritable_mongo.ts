// Stands before a MongoDB-protocol server and refuses its writes, as a server does to a user who may only read.
import { connect, createServer, type Socket } from "node:net"
import { BSON } from "mongodb"

const WRITES = new Set(["insert", "update", "delete", "findAndModify"])

/** Operation code of OP_MSG; 16 bytes of header, 4 of flags and 1 of the kind of its section lie before its document. */
const OP_MSG = 2013
const DOCUMENT_AT = 21

const refusal = (message: Buffer): Buffer => {
  const body = BSON.serialize({ ok: 0, code: 13, codeName: "Unauthorized", errmsg: "not authorized to write" })
  const head = Buffer.alloc(DOCUMENT_AT)
  head.writeInt32LE(DOCUMENT_AT + body.length, 0)
  head.writeInt32LE(message.readInt32LE(4), 8)
  head.writeInt32LE(OP_MSG, 12)
  return Buffer.concat([head, body])
}

const isWrite = (message: Buffer): boolean => {
  if (message.readInt32LE(12) !== OP_MSG || message[DOCUMENT_AT - 1] !== 0) return false
  const length = message.readInt32LE(DOCUMENT_AT)
  const [command = ""] = Object.keys(BSON.deserialize(message.subarray(DOCUMENT_AT, DOCUMENT_AT + length)))
  return WRITES.has(command)
}

/** @param to where the server listens */
export const startUnwritableMongo = async (to: { readonly host: string; readonly port: number }) => {
  let refusing = false
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(to.port, to.host)
    sockets.add(client).add(upstream)
    const end = () => {
      for (const each of [client, upstream]) {
        each.destroy()
        sockets.delete(each)
      }
    }
    for (const each of [client, upstream]) each.on("error", end).on("close", end)
    upstream.pipe(client)
    let received = Buffer.alloc(0)
    client.on("data", (data: Buffer) => {
      received = Buffer.concat([received, data])
      while (received.length >= 4 && received.length >= received.readInt32LE(0)) {
        const message = received.subarray(0, received.readInt32LE(0))
        received = received.subarray(message.length)
        if (refusing && isWrite(message)) client.write(refusal(message))
        else upstream.write(message)
      }
    })
  })
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready))
  const address = server.address()
  return {
    host: "127.0.0.1",
    port: typeof address === "object" && address !== null ? address.port : 0,
    /** Whether writes are refused from now on. */
    refuseWrites: (refuse: boolean): void => {
      refusing = refuse
    },
    stop: (): void => {
      server.close()
      for (const each of sockets) each.destroy()
    },
  }
}
