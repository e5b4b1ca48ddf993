// `portolan token` as a user runs it: a process, an environment, two streams and an exit code.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Effect, Exit, Scope } from "effect"
import { identityProvider } from "../support/identity_provider.ts"
import type { LocalServer } from "../support/local_server.ts"

const SECRET = "s3cr3t-0f-the-client"

const scope = Scope.makeUnsafe()
let provider: LocalServer
beforeAll(async () => {
  const clients = new Map([["portolan-service", SECRET]])
  provider = await Effect.runPromise(Scope.provide(identityProvider({ clients, lifetimeS: 300 }), scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const environment = () => ({
  IDP_URL: `${provider.url}/auth`,
  IDP_REALM: "demo realm",
  IDP_CLIENT_ID: "portolan-service",
  IDP_CLIENT_SECRET: SECRET,
})

const portolan = async (words: ReadonlyArray<string>, env: Readonly<Record<string, string>>) => {
  const run = Bun.spawn([process.execPath, "bootstrap/main.ts", "token", ...words], {
    stdio: ["ignore", "pipe", "pipe"],
    env,
  })
  const [out, err] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()])
  return { exitCode: await run.exited, out, err }
}

describe("portolan token", () => {
  test("prints the token alone, so that a shell can take it", async () => {
    const { exitCode, out, err } = await portolan([], environment())
    expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" })
    expect(out).toMatch(/^token-\d+\n$/)
  })

  test("prints token and expiry as JSON", async () => {
    const { exitCode, out } = await portolan(["--json"], environment())
    expect(exitCode).toBe(0)
    const { token, expiresAt } = JSON.parse(out) as { readonly token: string; readonly expiresAt: number }
    expect(token).toMatch(/^token-\d+$/)
    expect(Math.abs(expiresAt - Date.now() / 1000 - 300)).toBeLessThan(30)
  })

  test("a refusal ends it with 1 and shows no secret", async () => {
    const { exitCode, out, err } = await portolan([], { ...environment(), IDP_CLIENT_SECRET: "wr0ng-secret" })
    expect({ exitCode, out }).toEqual({ exitCode: 1, out: "" })
    expect(err).toContain("Token request refused with status 401 (unauthorized_client)")
    expect(err).not.toContain("wr0ng")
  })

  test("an incomplete environment ends it with 2, one line per variable, and nobody is asked", async () => {
    const before = provider.seen.length
    const { exitCode, out, err } = await portolan([], { IDP_URL: provider.url, IDP_CLIENT_SECRET: SECRET })
    expect({ exitCode, out }).toEqual({ exitCode: 2, out: "" })
    expect(err).toContain("IDP_REALM is required by 'token'\nIDP_CLIENT_ID is required by 'token'")
    expect(err).not.toContain(SECRET)
    expect(provider.seen.length).toBe(before)
  })

  test("a realm that can be none ends it with 2", async () => {
    const { exitCode, err } = await portolan([], { ...environment(), IDP_REALM: ".." })
    expect(exitCode).toBe(2)
    expect(err).toContain("IDP_REALM must be the name of a realm")
  })
})
