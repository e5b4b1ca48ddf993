// Our verifier and our token request against a real Keycloak. With KEYCLOAK_RECORD=1 its tokens are recorded anew.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Context, Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { layer as issuerLayer } from "../../adapters/driven/token_issuer/http.ts"
import { type JoseOptions, layer as verifierLayer } from "../../adapters/driven/token_verifier/jose.ts"
import { COOL_DOWN_S } from "../../adapters/driven/token_verifier/jose_key_set.ts"
import { makeRequestToken } from "../../application/identity/request_token.ts"
import { TokenVerifier } from "../../domain/identity/token_verifier.ts"
import { defineCollection } from "../../domain/records/collection.ts"
import { products } from "../../domain/records/products.ts"
import { keycloakClient, type UserTokens } from "../support/keycloak_client.ts"
import { REALM } from "../support/keycloak_realm.ts"
import { KEYCLOAK, realSuite } from "../support/real_servers.ts"
import { decoded, RECORDED, type RecordedKind, shapeOf } from "../support/recorded_tokens.ts"
import { startService } from "../support/test_service.ts"
import { jwkOf, KEYS, signToken } from "../support/tokens.ts"

realSuite(KEYCLOAK, "a real Keycloak", (server) => {
  const keycloak = keycloakClient(server)
  let user: UserTokens
  let service: string

  /** Our own token request, as the service makes it. */
  const requestToken = (more: Partial<Parameters<typeof issuerLayer>[0]> = {}) =>
    Effect.flatten(makeRequestToken).pipe(
      Effect.provide(
        issuerLayer({
          authUrl: keycloak.url,
          realm: REALM.name,
          clientId: REALM.serviceClient.id,
          clientSecret: Redacted.make(REALM.serviceClient.secret),
          ...more,
        }),
      ),
    )
  const serviceToken = () => Effect.runPromise(Effect.map(requestToken(), ({ text }) => Redacted.value(text)))

  beforeAll(async () => {
    user = await keycloak.login()
    service = await serviceToken()
  })

  /** What a verifier set up like this says about a token: its sorted roles, or why not. */
  const verdict = (options: JoseOptions, token: string): Promise<string> =>
    Effect.runPromise(
      Effect.flatMap(TokenVerifier, ({ verify }) => verify(token)).pipe(
        Effect.map(({ roles }) => [...roles].sort().join(" ")),
        Effect.catchTag("Unauthenticated", ({ reason }) => Effect.succeed(reason)),
        Effect.provide(verifierLayer(options)),
      ),
    )

  const KEY_SOURCES: ReadonlyArray<readonly [title: string, source: () => Promise<JoseOptions>]> = [
    ["the bare key of its realm page", async () => ({ keys: await keycloak.bareKey() })],
    ["its key set as a text", async () => ({ keys: JSON.stringify(await keycloak.keySet()) })],
    [
      "its certificate",
      async () => {
        const { keys } = await keycloak.keySet()
        const [certificate] = keys.flatMap((key) => (key["use"] === "sig" ? (key["x5c"] as ReadonlyArray<string>) : []))
        return { keys: certificate ?? "" }
      },
    ],
    ["its key set's address", async () => ({ jwksUrl: keycloak.certs })],
  ]

  const guarded = defineCollection({
    name: "guarded",
    fields: products.fields,
    roles: { list: [REALM.user.role], get: [REALM.serviceClient.role] },
  })

  describe.each(KEY_SOURCES)("through %s", (_title, source) => {
    test("access tokens open the service, each to the roles of its realm_access; other kinds do not", async () => {
      const portolan = await startService({
        verifier: verifierLayer({ ...(await source()), issuer: keycloak.issuer, requireTyp: true }),
        collections: [products, guarded],
      })
      const status = async (token: string, path: string) =>
        (await portolan.send(path, { headers: { authorization: `Bearer ${token}` } })).status
      const all = (token: string) =>
        Promise.all(["/api/products", "/api/guarded", "/api/guarded/1"].map((path) => status(token, path)))
      try {
        expect(await all(user.access)).toEqual([200, 200, 403])
        // 404: past the role check, and there is no such record.
        expect(await all(service)).toEqual([200, 403, 404])
        expect(await all(user.id)).toEqual([401, 401, 401])
        expect(await all(user.refresh)).toEqual([401, 401, 401])
        expect(await all(`${user.access.slice(0, -8)}AAAAAAAA`)).toEqual([401, 401, 401])
      } finally {
        await portolan.stop()
      }
    })

    test("refuses for the right reason", async () => {
      const options = { ...(await source()), issuer: keycloak.issuer }
      expect(await verdict(options, user.id)).toBe("kind")
      expect(await verdict(options, user.refresh)).toBe("algorithm")
      expect(await verdict(options, `${service.slice(0, -8)}AAAAAAAA`)).toBe("signature")
    })
  })

  test("issuer, audience and client are compared exactly", async () => {
    const keys = await keycloak.bareKey()
    const roles = ["default-roles-demo", "offline_access", REALM.serviceClient.role, "uma_authorization"].join(" ")
    for (const [options, expected] of [
      [{}, roles],
      [{ issuer: keycloak.issuer }, roles],
      [{ issuer: `${keycloak.issuer}/` }, "issuer"],
      [{ issuer: `${keycloak.url}/realms/master` }, "issuer"],
      [{ audience: REALM.audience }, roles],
      [{ audience: "account" }, roles],
      [{ audience: REALM.webClient.id }, "audience"],
      [{ authorizedParties: [REALM.serviceClient.id] }, roles],
      [{ authorizedParties: [REALM.webClient.id] }, "audience"],
    ] as const)
      expect([options, await verdict({ keys, ...options }, service)]).toEqual([options, expected])
  })

  test("a token of another realm of the same server is refused", async () => {
    const token = await keycloak.adminToken()
    expect(await verdict({ keys: await keycloak.bareKey() }, token)).toBe("signature")
    expect(await verdict({ jwksUrl: keycloak.certs }, token)).toBe("signature")
  })

  describe("when its signing key is rotated", () => {
    let withdraw: ReadonlyArray<() => Promise<unknown>> = []
    const rotate = async (priority: number) => {
      withdraw = [...withdraw, await keycloak.addSigningKey(priority)]
    }
    afterAll(async () => {
      for (const each of withdraw) await each()
    })

    test("a running service takes tokens of the new key at once, and of the old one still", async () => {
      const portolan = await startService({
        verifier: verifierLayer({ jwksUrl: keycloak.certs, issuer: keycloak.issuer }),
      })
      const status = async (token: string) =>
        (await portolan.send("/api/products", { headers: { authorization: `Bearer ${token}` } })).status
      try {
        const before = (await keycloak.login()).access
        expect(await status(before)).toBe(200)
        await rotate(200)
        const after = (await keycloak.login()).access
        expect(decoded(after).header["kid"]).not.toBe(decoded(before).header["kid"])
        expect(await status(after)).toBe(200)
        expect(await status(before)).toBe(200)
      } finally {
        await portolan.stop()
      }
    })

    test("a withdrawn key takes its tokens along, remembered ones too", async () => {
      await rotate(300)
      const withdrawn = (await keycloak.login()).access
      const program = Effect.gen(function* () {
        yield* TestClock.setTime(Date.now())
        const context = yield* Layer.build(verifierLayer({ jwksUrl: keycloak.certs }))
        const { verify } = Context.get(context, TokenVerifier)
        yield* verify(withdrawn)
        const next = yield* Effect.promise(async () => {
          await withdraw.at(-1)?.()
          withdraw = withdraw.slice(0, -1)
          await rotate(400)
          return (await keycloak.login()).access
        })
        // The unknown key of the next token brings the new set, without the withdrawn key.
        yield* TestClock.adjust(`${COOL_DOWN_S} seconds`)
        yield* verify(next)
        return yield* Effect.flip(verify(withdrawn))
      })
      const refusal = await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(TestClock.layer())))
      expect(refusal).toMatchObject({ _tag: "Unauthenticated", reason: "signature" })
    })
  })

  describe("our token request", () => {
    const refusal = (more: Parameters<typeof requestToken>[0]) => Effect.runPromise(Effect.flip(requestToken(more)))

    test("gives a token of the service client and its expiry", async () => {
      const askedAtS = Date.now() / 1000
      const token = await Effect.runPromise(requestToken({ authUrl: `${keycloak.url}/` }))
      const { claims } = decoded(Redacted.value(token.text))
      expect(claims).toMatchObject({ azp: REALM.serviceClient.id, typ: "Bearer", iss: keycloak.issuer })
      expect(Math.abs((token.expiresAt ?? 0) - Number(claims["exp"]))).toBeLessThan(3)
      expect(token.expiresAt).toBeGreaterThan(askedAtS)
    })

    test.each([
      ["a wrong secret", { clientSecret: Redacted.make("not-the-secret") }, 401, "unauthorized_client"],
      ["an unknown client", { clientId: "nobody" }, 401, "invalid_client"],
      ["a public client", { clientId: REALM.webClient.id }, 401, "unauthorized_client"],
      ["an unknown realm", { realm: "nowhere" }, 404, undefined],
    ])("is refused with %s", async (_title, more, status, error) => {
      const failure = await refusal(more)
      expect(failure).toMatchObject({ _tag: "TokenRequestFailed", kind: "refused", status })
      expect("error" in failure ? failure.error : undefined).toBe(error)
    })

    test("is refused once the client is disabled", async () => {
      const own = { clientId: `disabled-${process.pid}`, clientSecret: Redacted.make("its-own-secret") }
      const client = await keycloak.addServiceClient(own.clientId, Redacted.value(own.clientSecret))
      try {
        const { text } = await Effect.runPromise(requestToken(own))
        expect(decoded(Redacted.value(text)).claims).toMatchObject({ azp: own.clientId })
        await client.disable()
        expect(await refusal(own)).toMatchObject({ kind: "refused", status: 401, error: "invalid_client" })
      } finally {
        await client.remove()
      }
    })
  })

  describe("unusual tokens", () => {
    const SECRET = "its-own-secret"
    const TOKEN_URL = `${keycloak.issuer}/protocol/openid-connect/token`
    const options = { jwksUrl: keycloak.certs, issuer: keycloak.issuer }

    /** A token of a service client made for this test alone, with these settings. */
    const tokenOf = async (
      attributes: Readonly<Record<string, string>>,
      headers: Readonly<Record<string, string>> = {},
    ) => {
      const id = `unusual-${crypto.randomUUID()}`
      const client = await keycloak.addServiceClient(id, SECRET, attributes)
      try {
        const form = new URLSearchParams({ grant_type: "client_credentials", client_id: id, client_secret: SECRET })
        const response = await fetch(TOKEN_URL, { method: "POST", headers, body: form })
        const { access_token: token } = (await response.json()) as { readonly access_token?: string }
        return token ?? `none, status ${response.status}`
      } finally {
        await client.remove()
      }
    }
    test("a lightweight token is accepted, and holds no role", async () => {
      const token = await tokenOf({ "client.use.lightweight.access.token.enabled": "true" })
      expect(decoded(token).claims).not.toContainKey("realm_access")
      expect(await verdict(options, token)).toBe("")
    })

    test("a token announced as at+jwt is accepted", async () => {
      const token = await tokenOf({ "access.token.header.type.rfc9068": "true" })
      expect(decoded(token).header["typ"]).toBe("at+jwt")
      expect(await verdict(options, token)).toContain("default-roles-demo")
    })

    test("a token that DPoP binds to a key is no bearer token", async () => {
      const { publicKey, privateKey } = KEYS.other()
      const claims = { jti: crypto.randomUUID(), htm: "POST", htu: TOKEN_URL, iat: Math.floor(Date.now() / 1000) }
      const proof = signToken({ typ: "dpop+jwt", alg: "RS256", jwk: jwkOf(publicKey) }, claims, privateKey)
      const token = await tokenOf({ "dpop.bound.access.tokens": "true" }, { DPoP: proof })
      expect(decoded(token).claims).toContainKey("cnf")
      expect(await verdict(options, token)).toBe("bound")
    })
  })

  describe("the recorded tokens", () => {
    const live = (): Record<RecordedKind, string> => ({ ...user, service })

    beforeAll(async () => {
      if (process.env["KEYCLOAK_RECORD"] !== "1") return
      const tokens = Object.fromEntries(Object.entries(live()).map(([kind, token]) => [kind, decoded(token)]))
      const recorded = `${JSON.stringify({ version: await keycloak.version(), tokens }, null, 2)}\n`
      writeFileSync(join(import.meta.dir, "../fixtures/keycloak/tokens.json"), recorded)
    })

    test.each(["access", "id", "refresh", "service"] as const)("%s is still made like this", (kind) => {
      // A newer version may add claims; none of those we know may be missing or of another form.
      expect(shapeOf(decoded(live()[kind]))).toMatchObject(shapeOf(RECORDED.tokens[kind]))
    })
  })
})
