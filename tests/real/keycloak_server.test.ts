// The Keycloak of the ring is what the suites take it for.
import { expect, test } from "bun:test"
import { REALM } from "../support/keycloak_realm.ts"
import { KEYCLOAK, realSuite } from "../support/real_servers.ts"

realSuite(KEYCLOAK, "the Keycloak of the ring", (keycloak) => {
  const issuer = `${keycloak.url}/realms/${REALM.name}`

  const token = async (form: Readonly<Record<string, string>>) => {
    const answer = await fetch(`${issuer}/protocol/openid-connect/token`, {
      method: "POST",
      body: new URLSearchParams(form),
    })
    return { status: answer.status, body: (await answer.json()) as Readonly<Record<string, unknown>> }
  }

  test("serves the realm under the address the suites use", async () => {
    const discovery = (await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()) as { issuer: string }
    expect(discovery.issuer).toBe(issuer)
  })

  test("knows the user, the two clients and the administrator", async () => {
    const user = { client_id: REALM.webClient.id, ...REALM.user, grant_type: "password" }
    const service = { client_id: REALM.serviceClient.id, grant_type: "client_credentials" }
    expect(await token(user)).toMatchObject({ status: 200, body: { token_type: "Bearer" } })
    expect(await token({ ...service, client_secret: REALM.serviceClient.secret })).toMatchObject({ status: 200 })
    expect(await token({ ...service, client_secret: "not-the-secret" })).toMatchObject({ status: 401 })
    const admin = await fetch(`${keycloak.url}/realms/master/protocol/openid-connect/token`, {
      method: "POST",
      body: new URLSearchParams({ client_id: "admin-cli", grant_type: "password", ...keycloak.admin }),
    })
    expect(admin.status).toBe(200)
  })
})
