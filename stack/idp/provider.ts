import { type Account, type Configuration, errors, type JWK, type KoaContextWithOIDC, Provider } from "oidc-provider"
import { ENDPOINTS, REALM } from "../realm.ts"
import { errorPage, loggedOutPage, logoutPage } from "./pages.ts"

/** One realm of the test provider. */
export interface ProviderOptions {
  readonly issuer: string
  /** Private signing key. */
  readonly signingKey: JWK
  readonly cookieSecret: string
  readonly userPassword: string
  readonly webSecret: string
  readonly serviceSecret: string
  /** Origins of the gateway a browser may be sent back to. */
  readonly proxyUrls: ReadonlyArray<string>
}

/** Seconds tokens live, as a fresh realm's default. */
const TOKEN_S = 300
const SCOPES = "openid profile email"
// The provider wants an absolute URI here; the audience in the token is the realm's own.
const RESOURCE = "urn:portolan:account"

const { user } = REALM

const userClaims = (subject: string) => ({
  sub: subject,
  typ: "ID",
  preferred_username: user.name,
  given_name: user.firstName,
  family_name: user.lastName,
  name: `${user.firstName} ${user.lastName}`,
  email: user.email,
  email_verified: true,
})

const account = (subject: string): Account => ({ accountId: subject, claims: () => userClaims(subject) })

/** Claims by which an access token says what it is, in the shape of a Keycloak realm. */
const accessClaims = (clientId: string | undefined, ofUser: boolean) => ({
  typ: "Bearer",
  azp: clientId,
  realm_access: { roles: ofUser ? user.roles : REALM.serviceRoles },
  ...(ofUser ? { preferred_username: user.name } : {}),
})

const RESOURCE_SERVER = {
  scope: SCOPES,
  audience: REALM.accessAudience,
  accessTokenFormat: "jwt",
  accessTokenTTL: TOKEN_S,
  jwt: { sign: { alg: "RS256" } },
} as const

const configuration = (options: ProviderOptions): Configuration => ({
  jwks: { keys: [options.signingKey] },
  cookies: { keys: [options.cookieSecret] },
  routes: {
    authorization: ENDPOINTS.authorization,
    token: ENDPOINTS.token,
    jwks: ENDPOINTS.keys,
    userinfo: ENDPOINTS.userinfo,
    end_session: ENDPOINTS.endSession,
    introspection: ENDPOINTS.introspection,
    revocation: ENDPOINTS.revocation,
  },
  clients: [
    {
      client_id: REALM.webClient,
      client_secret: options.webSecret,
      grant_types: ["authorization_code", "refresh_token", "password"],
      response_types: ["code"],
      redirect_uris: options.proxyUrls.map((url) => `${url}/oidc/cb`),
      post_logout_redirect_uris: options.proxyUrls.map((url) => `${url}/oidc`),
      token_endpoint_auth_method: "client_secret_post",
    },
    {
      client_id: REALM.serviceClient,
      client_secret: options.serviceSecret,
      grant_types: ["client_credentials"],
      response_types: [],
      redirect_uris: [],
      token_endpoint_auth_method: "client_secret_post",
    },
  ],
  scopes: ["openid", "profile", "email", "offline_access"],
  claims: {
    openid: ["sub", "typ"],
    profile: ["preferred_username", "name", "given_name", "family_name"],
    email: ["email", "email_verified"],
  },
  // Claims go into the ID token itself, as the gateway's plugins read them there.
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  ttl: {
    AccessToken: TOKEN_S,
    ClientCredentials: TOKEN_S,
    IdToken: TOKEN_S,
    AuthorizationCode: 60,
    Interaction: 600,
    RefreshToken: 1800,
    Grant: 3600,
    Session: 3600,
  },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: (ctx, form) => {
        ctx.body = logoutPage(form)
      },
      postLogoutSuccessSource: (ctx) => {
        ctx.body = loggedOutPage()
      },
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => RESOURCE,
      useGrantedResource: () => true,
      getResourceServerInfo: () => RESOURCE_SERVER,
    },
  },
  extraTokenClaims: (_ctx, token) => accessClaims(token.clientId, token.kind !== "ClientCredentials"),
  formats: {
    customizers: {
      // The provider's own header says `at+jwt`; a Keycloak realm's says `JWT` and puts the kind into the claim.
      jwt: (_ctx, _token, jwt) => {
        jwt.header = { ...jwt.header, typ: "JWT" }
      },
    },
  },
  findAccount: (_ctx, subject) => (subject === user.id ? account(subject) : undefined),
  interactions: { url: (_ctx, interaction) => `${options.issuer}/login/${interaction.uid}` },
  renderError: (ctx, out) => {
    ctx.type = "html"
    ctx.body = errorPage(out.error)
  },
})

/** A grant that lets the user's client have everything this realm gives. */
const fullGrant = async (provider: Provider, clientId: string): Promise<string> => {
  const grant = new provider.Grant({ accountId: user.id, clientId })
  grant.addOIDCScope(SCOPES)
  grant.addResourceScope(RESOURCE, SCOPES)
  return grant.save()
}

/** The password grant of the test user: the command line asks with it, a browser never does. */
const passwordGrant = (provider: Provider, password: string) => async (ctx: KoaContextWithOIDC) => {
  const { client, params } = ctx.oidc
  if (client === undefined || params?.["username"] !== user.name || params["password"] !== password)
    throw new errors.InvalidGrant("wrong user name or password")
  const grantId = await fullGrant(provider, client.clientId)
  const access = new provider.AccessToken({ accountId: user.id, client, grantId, gty: "password", scope: SCOPES })
  access.resourceServer = new provider.ResourceServer(RESOURCE, RESOURCE_SERVER)
  ctx.oidc.entity("AccessToken", access)
  const id = new provider.IdToken(userClaims(user.id), { ctx })
  Object.assign(id, { scope: SCOPES })
  const accessToken = await access.save()
  id.set("at_hash", accessToken)
  const refresh = new provider.RefreshToken({ accountId: user.id, client, grantId, gty: "password", scope: SCOPES })
  ctx.body = {
    access_token: accessToken,
    id_token: await id.issue({ use: "idtoken" }),
    refresh_token: await refresh.save(),
    token_type: "Bearer",
    expires_in: TOKEN_S,
    scope: SCOPES,
  }
}

/** Makes a realm: a certified OpenID provider, with the paths and claims of a Keycloak realm. */
export const makeProvider = (options: ProviderOptions): Provider => {
  const provider = new Provider(options.issuer, configuration(options))
  provider.registerGrantType("password", passwordGrant(provider, options.userPassword), ["username", "password"])
  return provider
}

/** Finishes a login of the test user. */
export const grantLogin = async (provider: Provider, clientId: string) => ({
  login: { accountId: user.id },
  consent: { grantId: await fullGrant(provider, clientId) },
})
