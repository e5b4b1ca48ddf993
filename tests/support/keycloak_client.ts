// What the suites do to a real Keycloak: log its user in, read what it publishes, change it through its admin API.
import { REALM } from "./keycloak_realm.ts"
import type { KeycloakServer } from "./real_servers.ts"

type Json = Readonly<Record<string, unknown>>

const textOf = (body: Json, field: string): string => {
  const value = body[field]
  if (typeof value !== "string") throw new Error(`Keycloak's answer has no '${field}'`)
  return value
}

const postForm = async (url: string, form: Readonly<Record<string, string>>): Promise<Json> => {
  const response = await fetch(url, { method: "POST", body: new URLSearchParams(form) })
  if (!response.ok) throw new Error(`Keycloak answered ${response.status} to a token request of the suite`)
  return (await response.json()) as Json
}

const getJson = async (url: string): Promise<Json> => (await (await fetch(url)).json()) as Json

/** The tokens one login of the test user gives. */
export interface UserTokens {
  readonly access: string
  readonly id: string
  readonly refresh: string
}

export const keycloakClient = (server: KeycloakServer) => {
  const issuer = `${server.url}/realms/${REALM.name}`
  const certs = `${issuer}/protocol/openid-connect/certs`

  const adminToken = async (): Promise<string> => {
    const form = { client_id: "admin-cli", grant_type: "password", ...server.admin }
    return textOf(await postForm(`${server.url}/realms/master/protocol/openid-connect/token`, form), "access_token")
  }
  /** Asks the administration API; anything but success is an error. */
  const admin = async (method: string, path: string, body?: unknown): Promise<Response> => {
    const response = await fetch(`${server.url}/admin${path}`, {
      method,
      headers: { authorization: `Bearer ${await adminToken()}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok)
      throw new Error(`Keycloak's admin API answered ${response.status} to ${method} ${path}: ${await response.text()}`)
    return response
  }
  const adminJson = async (path: string): Promise<unknown> => (await admin("GET", path)).json()

  return {
    url: server.url,
    issuer,
    certs,
    /** The administrator's token, of the realm `master`. */
    adminToken,
    admin,
    login: async (): Promise<UserTokens> => {
      const { username, password } = REALM.user
      const body = await postForm(`${issuer}/protocol/openid-connect/token`, {
        client_id: REALM.webClient.id,
        grant_type: "password",
        scope: "openid",
        username,
        password,
      })
      return {
        access: textOf(body, "access_token"),
        id: textOf(body, "id_token"),
        refresh: textOf(body, "refresh_token"),
      }
    },
    /** The bare key its realm page shows. */
    bareKey: async (): Promise<string> => textOf(await getJson(issuer), "public_key"),
    keySet: async (): Promise<{ readonly keys: ReadonlyArray<Json> }> => ({
      keys: (await getJson(certs))["keys"] as ReadonlyArray<Json>,
    }),
    version: async (): Promise<string> => {
      const { systemInfo } = (await adminJson("/serverinfo")) as { readonly systemInfo: Json }
      return textOf(systemInfo, "version")
    },
    /** Makes a signing key that takes over at once; gives what removes it. */
    addSigningKey: async (priority: number): Promise<() => Promise<unknown>> => {
      const realm = (await adminJson(`/realms/${REALM.name}`)) as Json
      const created = await admin("POST", `/realms/${REALM.name}/components`, {
        name: `rotated-${priority}`,
        parentId: realm["id"],
        providerId: "rsa-generated",
        providerType: "org.keycloak.keys.KeyProvider",
        config: { priority: [`${priority}`], algorithm: ["RS256"], keySize: ["2048"] },
      })
      const id = created.headers.get("location")?.split("/").at(-1)
      return () => admin("DELETE", `/realms/${REALM.name}/components/${id}`)
    },
    /** Makes a service client of its own, for a test that changes it. */
    addServiceClient: async (clientId: string, secret: string, attributes: Readonly<Record<string, string>> = {}) => {
      const client = { clientId, secret, publicClient: false, serviceAccountsEnabled: true, enabled: true, attributes }
      const created = await admin("POST", `/realms/${REALM.name}/clients`, client)
      const path = `/realms/${REALM.name}/clients/${created.headers.get("location")?.split("/").at(-1)}`
      return {
        disable: () => admin("PUT", path, { ...client, enabled: false }),
        remove: () => admin("DELETE", path),
      }
    },
  }
}
