import { expect, test } from "bun:test"
import { createServer } from "node:net"
import { connectionFailure } from "../../stack/connection_failure.ts"

/** A port where something listens that never answers, and what closes it. */
const silentPort = () =>
  new Promise<{ readonly port: number; readonly close: () => void }>((resolve) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve({ port: typeof address === "object" ? (address?.port ?? 0) : 0, close: () => server.close() })
    })
  })

const failureOf = (url: string, signal?: AbortSignal) =>
  fetch(url, signal === undefined ? {} : { signal }).catch((failure: unknown) => connectionFailure(failure))

test("nobody listens: the system's code, or the runtime's", async () => {
  const { port, close } = await silentPort()
  close()
  expect(await failureOf(`http://127.0.0.1:${port}/`)).toMatch(/^(ECONNREFUSED|ConnectionRefused)$/)
})

test("a deadline is no number", async () => {
  const { port, close } = await silentPort()
  expect(await failureOf(`http://127.0.0.1:${port}/`, AbortSignal.timeout(1))).toBe("no answer in time")
  close()
})

test("what has no code says itself, and what is no error says nothing", () => {
  expect(connectionFailure(new Error("it answered 500"))).toBe("it answered 500")
  expect(connectionFailure("x")).toBe("no answer")
})
