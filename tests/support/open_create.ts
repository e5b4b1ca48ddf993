// A create whose body is held back: a request in mid-air, for tests of how a service ends.
import { openConnection } from "./raw_http.ts"
import { callerHeaders } from "./service_process.ts"

const RECORD = '{"name":"a"}'

/** Opens the request; once this resolves, the service is known to be working on it. */
export const openCreate = async (address: string) => {
  const connection = await openConnection(address)
  const headers = Object.entries(callerHeaders()).map(([name, value]) => `${name}: ${value}`)
  connection.write(
    [
      "POST /api/products HTTP/1.1",
      "Host: localhost",
      ...headers,
      `Content-Length: ${RECORD.length}`,
      "Expect: 100-continue",
      "",
      "",
    ].join("\r\n"),
  )
  const [first] = await connection.responses(1)
  if (first?.status !== 100) throw new Error(`no 100 Continue but ${first?.status}`)
  return {
    socket: connection.socket,
    /** Sends the body; the statuses of the connection, the interim one first. */
    finish: async (): Promise<ReadonlyArray<number>> => {
      connection.write(RECORD)
      return (await connection.responses(2)).map(({ status }) => status)
    },
  }
}

/** Whether nobody listens at an address any more. */
export const refusesConnections = (address: string): Promise<boolean> =>
  openConnection(address).then(
    ({ socket }) => {
      socket.destroy()
      return false
    },
    () => true,
  )
