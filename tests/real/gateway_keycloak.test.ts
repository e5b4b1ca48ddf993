// The gateway's token rows and its browser login against a real Keycloak in place of the embedded provider.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { randomUUID } from "node:crypto"
import type { JWK } from "jose"
import { ALLOWED_PATHS, type Line, routesOf } from "../../domain/gateway/route_profile.ts"
import { stackGateway } from "../../stack/check/checked_gateway.ts"
import { type CheckTarget, type PreparedCheck, prepareCheck } from "../../stack/check/run_check.ts"
import { tokenCases } from "../../stack/check/token_cases.ts"
import { realmImport } from "../../stack/docker/realm_import.ts"
import { ENDPOINTS, issuerOf, REALM } from "../../stack/realm.ts"
import type { StackSecrets } from "../../stack/state.ts"
import type { TokenSource } from "../../stack/token.ts"
import { Browser } from "../stack/http_browser.ts"
import { startLocalGateway } from "../stack/local_gateway.ts"
import { keycloakClient } from "../support/keycloak_client.ts"
import { KEYCLOAK, realSuite } from "../support/real_servers.ts"
import { KEYS } from "../support/tokens.ts"

const signingKey = KEYS.realm().privateKey.export({ format: "jwk" }) as JWK
const secrets: StackSecrets = {
  control: "unused",
  userPassword: "a-password-of-the-suite",
  webClient: "a-web-secret-of-the-suite",
  serviceClient: "a-service-secret-of-the-suite",
  signingKey: { ...signingKey },
}

const BUILDS: ReadonlyArray<readonly [Line, ReadonlyArray<string>]> = [
  ["2.8", ["catalogue-admin"]],
  ["3.9", []],
]

realSuite(KEYCLOAK, "the gateway in front of a real Keycloak", (server) => {
  const run = randomUUID().slice(0, 8)
  const [realm, other] = [`gateway-${run}`, `gateway-other-${run}`]

  const { admin } = keycloakClient(server)

  /** The realm of the Docker engine, under a name of this run. */
  const importRealm = (name: string) => {
    const document = realmImport(REALM.name, secrets, ["http://127.0.0.1:*"])
    const { components: _keys, ...withoutKeys } = document as typeof document & { components?: unknown }
    const ids = { users: document.users.map(({ ...user }) => ({ ...user, id: randomUUID() })) }
    const clients = document.clients.map((client) => ({
      ...client,
      // The gateway's port is not known yet.
      ...("redirectUris" in client
        ? { redirectUris: ["*"], attributes: { ...client.attributes, "post.logout.redirect.uris": "+" } }
        : {}),
    }))
    return admin("POST", "/realms", { ...(name === realm ? document : withoutKeys), ...ids, clients, realm: name })
  }

  const sourceOf = (name: string): TokenSource => ({
    issuer: issuerOf(server.url, name),
    webClient: REALM.webClient,
    webSecret: secrets.webClient,
    userName: REALM.user.name,
    userPassword: secrets.userPassword,
    serviceClient: REALM.serviceClient,
    serviceSecret: secrets.serviceClient,
  })

  beforeAll(async () => {
    await importRealm(realm)
    await importRealm(other)
  })

  afterAll(async () => {
    await admin("DELETE", `/realms/${realm}`)
    await admin("DELETE", `/realms/${other}`)
  })

  for (const [line, jwtRoles] of BUILDS) {
    const issuer = issuerOf(server.url, realm)
    const routes = routesOf(line, "variant")
    const checked = stackGateway(line, "variant", jwtRoles)
    let gateway: Awaited<ReturnType<typeof startLocalGateway>>
    let prepared: PreparedCheck

    beforeAll(async () => {
      gateway = await startLocalGateway({
        settings: {
          routes,
          allowedPaths: ALLOWED_PATHS,
          realm,
          issuer,
          clientId: REALM.webClient,
          accessAudience: REALM.accessAudience,
          jwtRoles,
          authorizationUrl: `${issuer}${ENDPOINTS.authorization}`,
          endSessionUrl: `${issuer}${ENDPOINTS.endSession}`,
        },
        realmUrl: issuer,
        webSecret: secrets.webClient,
      })
      const target: CheckTarget = {
        proxyUrl: gateway.url,
        gateway: checked,
        tokens: sourceOf(realm),
        otherTokens: sourceOf(other),
        signingKey,
        watch: { hits: gateway.hits },
      }
      prepared = await prepareCheck(target)
    })

    afterAll(async () => {
      prepared.close()
      await gateway.stop()
    })

    for (const each of tokenCases(checked))
      test(`${line}: ${each.name}`, async () => {
        const { outcome, got, note } = await prepared.ask(each)
        expect({ outcome, got, note }).toEqual({ outcome: "as expected", got, note: undefined })
      })

    test(`${line}: a browser logs in through /oidc and is asked again after logout`, async () => {
      const browser = new Browser()
      const page = `${gateway.url}/oidc/page`
      const { url, status } = await browser.logIn(page, secrets.userPassword)
      expect([url, status]).toEqual([page, 200])
      const session = browser.cookie(page, "portolan_session")
      const out = await browser.open(`${gateway.url}/oidc/logout`)
      expect(new URL(out.url).pathname).not.toContain("/logout")
      const before = await gateway.hits()
      const again = await fetch(page, { redirect: "manual", headers: { cookie: `portolan_session=${session}` } })
      expect([again.status, await gateway.hits()]).toEqual([302, before])
      expect((await browser.open(page)).text).toContain('name="password"')
    })
  }
})
