// What the suites know about the realm every Keycloak of the ring has imported. These are secrets of a test realm only.
import realm from "../fixtures/keycloak/realm.json" with { type: "json" }

const part = <A>(found: A | undefined): A => {
  if (found === undefined) throw new Error("tests/fixtures/keycloak/realm.json lacks a part that the suites need")
  return found
}

const alice = part(realm.users.find((user) => user.username === "alice"))
const service = part(realm.clients.find((client) => client.clientId === "portolan-service"))

export const REALM = {
  name: realm.realm,
  user: { username: alice.username, password: part(alice.credentials?.[0]).value, role: "catalogue-admin" },
  /** Public: code flow with PKCE; the password grant is allowed, for tests. */
  webClient: { id: "portolan-web" },
  /** Confidential: client credentials. */
  serviceClient: { id: service.clientId, secret: part(service.secret), role: "operator" },
  /** In `aud` of every access token. */
  audience: "portolan-api",
} as const
