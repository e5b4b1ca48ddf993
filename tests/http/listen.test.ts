// The listener: addresses, sharing a port, and its end.
import { afterEach, describe, expect, test } from "bun:test"
import { networkInterfaces } from "node:os"
import { type Listener, listen, type Place } from "../../bootstrap/listen.ts"
import { openConnection } from "../support/raw_http.ts"

const listeners: Array<Listener> = []
afterEach(() => Promise.all(listeners.splice(0).map((listener) => listener.stop())))

const HERE: Place = { hostname: "127.0.0.1", port: 0 }

const open = (fetch: Parameters<typeof listen>[0], place: Place = HERE): Listener => {
  const listener = listen(fetch, place)
  listeners.push(listener)
  return listener
}

const answerUrl = ({ url }: Request) => new Response(url)
const portOf = ({ url }: Listener) => Number(new URL(url).port)

describe("listen()", () => {
  test("an address in use is an error, and is free again after stop()", async () => {
    const first = open(answerUrl)
    const place = { ...HERE, port: portOf(first) }
    expect(() => open(answerUrl, place)).toThrow()
    await first.stop()
    expect((await fetch(`${open(answerUrl, place).url}/again`)).status).toBe(200)
  })

  test("an address that cannot be bound is an error", () => {
    expect(() => open(answerUrl, { hostname: "192.0.2.1", port: 0 })).toThrow()
  })

  test.skipIf(process.platform !== "linux")("a port is shared when every listener agrees to it", async () => {
    const first = open(answerUrl, { ...HERE, reusePort: true })
    const place = { ...HERE, port: portOf(first) }
    expect(() => open(answerUrl, place)).toThrow()
    const second = open(answerUrl, { ...place, reusePort: true })
    await first.stop()
    expect((await fetch(second.url)).status).toBe(200)
  })

  const hasIpv6 = Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === "::1"))

  test.skipIf(!hasIpv6)("an address of IPv6 is served, and named in brackets", async () => {
    const { url } = open(answerUrl, { hostname: "::1", port: 0 })
    expect(url).toStartWith("http://[::1]:")
    expect(await (await fetch(`${url}/v6`)).text()).toBe(`${url}/v6`)
  })
})

describe("stop()", () => {
  test("closes idle connections at once, and lets a running request be answered", async () => {
    const running = Promise.withResolvers<Response>()
    const arrived = Promise.withResolvers<void>()
    const listener = open(({ url }) => {
      if (!url.endsWith("/running")) return new Response("done")
      arrived.resolve()
      return running.promise
    })
    const [idle, busy] = [await openConnection(listener.url), await openConnection(listener.url)]
    idle.write("GET /idle HTTP/1.1\r\nHost: a\r\n\r\n")
    await idle.responses(1)
    busy.write("GET /running HTTP/1.1\r\nHost: a\r\n\r\n")
    await arrived.promise

    const stopped = listener.stop()
    await idle.closed
    running.resolve(new Response("finished"))
    await busy.closed
    expect((await busy.responses(1)).map(({ body }) => body)).toEqual(["finished"])
    await stopped
    await expect(fetch(listener.url)).rejects.toThrow()
  })
})
