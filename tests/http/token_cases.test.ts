// The token check list over a socket: every row of the table is a request to a running service, written byte by byte.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Effect, Exit, Scope } from "effect"
import * as jose from "../../adapters/driven/token_verifier/jose.ts"
import { type Collection, defineCollection } from "../../domain/records/collection.ts"
import { products } from "../../domain/records/products.ts"
import { type LocalServer, localServer } from "../support/local_server.ts"
import { type RawResponse, rawRequest } from "../support/raw_http.ts"
import { startService, type TestService } from "../support/test_service.ts"
import { TOKEN_CASES } from "../support/token_cases/table.ts"
import { defaultSetup, type Presented, type TokenCase } from "../support/token_cases/token_case.ts"
import { tokenKit } from "../support/tokens.ts"

/** Tokens are made when their request is: the service's clock is the real one. */
const kitNow = () => tokenKit(Math.floor(Date.now() / 1000))

const scope = Scope.makeUnsafe()
const local = (answer: Parameters<typeof localServer>[0]) =>
  Effect.runPromise(Scope.provide(localServer(answer), scope))

/** Route of a case: the open collection, or one that asks for the case's roles. */
const nameOf = ({ roles }: TokenCase): string => (roles === undefined ? "products" : `for-${roles.join("-")}`)

const guarded = new Map(
  TOKEN_CASES.filter(({ roles }) => roles !== undefined).map((each): [string, Collection<object>] => [
    nameOf(each),
    defineCollection({
      name: nameOf(each),
      fields: products.fields,
      roles: { list: each.roles ?? [], get: each.roles ?? [], create: each.roles ?? [] },
    }),
  ]),
)

/** One service per way of setting a verifier up; most rows share one. */
const services = new Map<string, Promise<TestService>>()

const start = async ({ setup, published }: TokenCase): Promise<TestService> => {
  const { keys, issuer, ...rules } = { ...defaultSetup(kitNow()), ...setup }
  const source =
    published === undefined
      ? { keys: keys ?? "" }
      : { jwksUrl: `${(await local(() => ({ body: JSON.stringify(published()) }))).url}/certs` }
  return startService({
    collections: [products, ...guarded.values()],
    verifier: jose.layer({ ...rules, ...source, ...(issuer === undefined ? {} : { issuer }) }),
  })
}

const serviceFor = (each: TokenCase): Promise<TestService> => {
  const key = JSON.stringify([each.setup, each.published?.()])
  const known = services.get(key) ?? start(each)
  services.set(key, known)
  return known
}

const bytesOf = (path: string, { authorization, headers = {}, body }: Presented): Buffer =>
  Buffer.from(
    [
      `${body === undefined ? "GET" : "POST"} ${path} HTTP/1.1`,
      "Host: localhost",
      "Connection: close",
      ...authorization.map((value) => `Authorization: ${value}`),
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      ...(body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
      "",
      body ?? "",
    ].join("\r\n"),
  )

/** RFC 6750 section 3.1: an error code only when a bearer token came. */
const challengeOf = (status: number, { authorization }: Presented): string => {
  const came = authorization.some((value) => /^bearer(?: |$)/i.test(value))
  if (status === 403) return 'Bearer realm="portolan", error="insufficient_scope"'
  return came
    ? 'Bearer realm="portolan", error="invalid_token", error_description="The bearer token is not acceptable"'
    : 'Bearer realm="portolan"'
}

const expectRefused = (response: RawResponse, status: number, presented: Presented) => {
  expect(response.headers.get("www-authenticate")).toBe(challengeOf(status, presented))
  expect(response.headers.get("cache-control")).toBe("no-store")
  expect(response.headers.get("content-type")).toBe("application/problem+json")
  expect(JSON.parse(response.body)).toMatchObject({ status, code: status === 403 ? "FORBIDDEN" : "UNAUTHENTICATED" })
}

let trap: LocalServer
beforeAll(async () => {
  trap = await local(() => ({}))
})
afterAll(async () => {
  for (const service of services.values()) await (await service).stop()
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

describe("token check list over HTTP", () => {
  test.each(TOKEN_CASES.map((each) => [`${each.id} ${each.title} -> ${each.expect}`, each] as const))(
    "%s",
    async (_title, each) => {
      const service = await serviceFor(each)
      const before = service.storeCalls()
      const presented = each.make(kitNow(), trap.url)
      const path = `/api/${nameOf(each)}${presented.id === undefined ? "" : `/${presented.id}`}`
      const target = presented.query === undefined ? path : `${path}?${presented.query}`
      // Twice: a token that was accepted is remembered, and must fare no better or worse for it.
      for (const _ of ["unknown", "remembered"]) {
        const response = await rawRequest(service.url, bytesOf(target, presented))
        expect([each.expect, ...(each.wire ?? [])]).toContain(response?.status ?? 0)
        if (response?.status === 200) expect(response.body).toStartWith('{"response":"OK","data":[')
        if (response?.status === 401 || response?.status === 403) expectRefused(response, response.status, presented)
      }
      if (each.expect !== 200) expect(service.storeCalls()).toBe(before)
      expect(trap.seen).toEqual([])
    },
  )

  test("no token was logged", async () => {
    const logs = (await Promise.all(services.values())).map((service) => service.log()).join("\n")
    expect(logs).toContain("/api/products")
    // Every signed token begins with the encoding of `{"`.
    expect(logs).not.toContain("eyJ")
  })
})
