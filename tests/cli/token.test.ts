// `portolan token` as a user runs it: once as a process; what only its environment and answers decide, in this one.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Effect, Exit, Scope } from "effect"
import { runHere } from "../support/command_here.ts"
import { identityProvider } from "../support/identity_provider.ts"
import type { LocalServer } from "../support/local_server.ts"
import { endProcesses, runProcess } from "../support/service_process.ts"

const SECRET = "s3cr3t-0f-the-client"

const scope = Scope.makeUnsafe()
let provider: LocalServer
beforeAll(async () => {
  const clients = new Map([["portolan-service", SECRET]])
  provider = await Effect.runPromise(Scope.provide(identityProvider({ clients, lifetimeS: 300 }), scope))
})
afterAll(() => Promise.all([Effect.runPromise(Scope.close(scope, Exit.void)), endProcesses()]))

const environment = () => ({
  IDP_URL: `${provider.url}/auth`,
  IDP_REALM: "demo realm",
  IDP_CLIENT_ID: "portolan-service",
  IDP_CLIENT_SECRET: SECRET,
})

const here = (environment: Readonly<Record<string, string>>, ...words: ReadonlyArray<string>) =>
  runHere(["token", ...words], environment)

describe("portolan token", () => {
  test("prints the token alone, so that a shell can take it, or token and expiry as JSON", async () => {
    expect(await runProcess(["token"], environment())).toEqual({ code: 0, stdout: "token-1\n", stderr: "" })
    const askedAtS = Math.floor(Date.now() / 1000)
    const { code, stdout } = await here(environment(), "--json")
    expect(code).toBe(0)
    const { token, expiresAt } = JSON.parse(stdout) as { readonly token: string; readonly expiresAt: number }
    expect(token).toBe("token-2")
    expect(expiresAt).toBeGreaterThanOrEqual(askedAtS + 300)
    expect(expiresAt).toBeLessThanOrEqual(Date.now() / 1000 + 300)
  })

  test("a refusal ends it with 1 and shows no secret", async () => {
    const { code, stdout, stderr } = await here({ ...environment(), IDP_CLIENT_SECRET: "wr0ng-secret" })
    expect([code, stdout]).toEqual([1, ""])
    expect(stderr).toContain("Token request refused with status 401 (unauthorized_client)")
    expect(stderr).not.toContain("wr0ng")
  })

  test("an incomplete environment ends it with 2, one line per variable, and nobody is asked", async () => {
    const before = provider.seen.length
    const { code, stdout, stderr } = await here({ IDP_URL: provider.url, IDP_CLIENT_SECRET: SECRET })
    expect([code, stdout]).toEqual([2, ""])
    expect(stderr).toContain("IDP_REALM is required by 'token'\nIDP_CLIENT_ID is required by 'token'")
    expect(stderr).not.toContain(SECRET)
    expect(provider.seen.length).toBe(before)
  })

  test("a realm that can be none ends it with 2", async () => {
    const { code, stderr } = await here({ ...environment(), IDP_REALM: ".." })
    expect(code).toBe(2)
    expect(stderr).toContain("IDP_REALM must be the name of a realm")
  })
})
