import { createPrivateKey, type JsonWebKeyInput } from "node:crypto"
import { REALM } from "../realm.ts"
import type { StackSecrets } from "../state.ts"

const { user } = REALM

/** Puts the audience into every access token. By default the provider does so only for users with certain roles. */
const audienceMapper = {
  name: "audience",
  protocol: "openid-connect",
  protocolMapper: "oidc-audience-mapper",
  config: {
    "included.custom.audience": REALM.accessAudience,
    "access.token.claim": "true",
    "id.token.claim": "false",
  },
} as const

/** The realm's signing key is ours, so that `check` can make well-signed wrong tokens. */
const keyProvider = ({ signingKey }: StackSecrets) => ({
  name: REALM.signingKeyId,
  providerId: "rsa",
  config: {
    priority: ["200"],
    algorithm: ["RS256"],
    privateKey: [
      String(
        createPrivateKey({ key: signingKey, format: "jwk" } as JsonWebKeyInput).export({
          type: "pkcs8",
          format: "pem",
        }),
      ),
    ],
  },
})

const client = (clientId: string, secret: string) => ({
  clientId,
  secret,
  enabled: true,
  protocol: "openid-connect",
  publicClient: false,
  clientAuthenticatorType: "client-secret",
  // The client scopes are the provider's own defaults: naming some here would drop `basic`, and with it `sub`.
  protocolMappers: [audienceMapper],
})

/**
 * A realm as Keycloak imports it at start.
 *
 * @param name of the realm
 * @param proxyUrls origins of the gateway a browser may be sent back to
 */
export const realmImport = (name: string, secrets: StackSecrets, proxyUrls: ReadonlyArray<string>) => ({
  realm: name,
  enabled: true,
  sslRequired: "none",
  accessTokenLifespan: 300,
  roles: { realm: [...user.roles, ...REALM.serviceRoles].map((role) => ({ name: role })) },
  // The other realm signs with a key that the provider makes itself.
  ...(name === REALM.name ? { components: { "org.keycloak.keys.KeyProvider": [keyProvider(secrets)] } } : {}),
  users: [
    {
      id: user.id,
      username: user.name,
      enabled: true,
      // Without all of these the password grant answers that the account is not fully set up.
      email: user.email,
      emailVerified: true,
      firstName: user.firstName,
      lastName: user.lastName,
      credentials: [{ type: "password", value: secrets.userPassword, temporary: false }],
      realmRoles: [...user.roles],
    },
    {
      username: `service-account-${REALM.serviceClient}`,
      enabled: true,
      serviceAccountClientId: REALM.serviceClient,
      realmRoles: [...REALM.serviceRoles],
    },
  ],
  clients: [
    {
      ...client(REALM.webClient, secrets.webClient),
      standardFlowEnabled: true,
      directAccessGrantsEnabled: true,
      redirectUris: proxyUrls.map((url) => `${url}/oidc/cb`),
      attributes: {
        "pkce.code.challenge.method": "S256",
        "post.logout.redirect.uris": proxyUrls.map((url) => `${url}/oidc`).join("##"),
      },
    },
    {
      ...client(REALM.serviceClient, secrets.serviceClient),
      standardFlowEnabled: false,
      serviceAccountsEnabled: true,
    },
  ],
})
