// The realm of the compose file, imported by Keycloak.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { decodeJwt } from "jose"
import realm from "../../bootstrap/deploy/realm.json" with { type: "json" }
import { keycloakClient } from "../support/keycloak_client.ts"
import { KEYCLOAK, realSuite } from "../support/real_servers.ts"
import { endProcesses, runProcess } from "../support/service_process.ts"

realSuite(KEYCLOAK, "the compose file's realm", (server) => {
  const keycloak = keycloakClient(server)
  const name = `portolan-${process.pid}`
  const secret = "a-client-secret"

  beforeAll(async () => {
    // Keycloak itself puts variables in place of their names only when it imports at its start.
    const text = JSON.stringify({ ...realm, realm: name }).replace(/\$\{IDP_CLIENT_SECRET\}/, secret)
    await keycloak.admin("POST", "/realms", JSON.parse(text))
  })
  afterAll(async () => {
    await keycloak.admin("DELETE", `/realms/${name}`)
    await endProcesses()
  })

  test("gives `portolan token` a token that the compose file's service accepts", async () => {
    const { code, stdout } = await runProcess(["token"], {
      IDP_URL: server.url,
      IDP_REALM: name,
      IDP_CLIENT_ID: "portolan-service",
      IDP_CLIENT_SECRET: secret,
    })
    expect(code).toBe(0)
    const claims = decodeJwt<{ realm_access: { roles: ReadonlyArray<string> } }>(stdout.trim())
    expect([claims.aud].flat()).toContain("portolan")
    expect(claims.realm_access.roles).toEqual(expect.arrayContaining(["operator", "publisher"]))
  })
})
