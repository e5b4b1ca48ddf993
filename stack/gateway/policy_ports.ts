import { Layer, Redacted } from "effect"
import { layer as browserSessions } from "../../adapters/driven/browser_sessions/memory.ts"
import { layer as codeExchange } from "../../adapters/driven/code_exchange/http.ts"
import { layer as loginSecrets } from "../../adapters/driven/login_secrets/web_crypto.ts"
import { layer as signedTokens } from "../../adapters/driven/token_verifier/jose_signed_tokens.ts"
import type { GatewaySettings } from "../../domain/gateway/gateway_settings.ts"
import { ALLOWED_PATHS, routesOf } from "../../domain/gateway/route_profile.ts"
import { ENDPOINTS, issuerOf, REALM } from "../realm.ts"
import type { StackState } from "../state.ts"

/** Where the gateway itself reaches the identity provider, and as whom. */
export interface PolicyPortsOptions {
  /** Base address of the realm for this process; it may differ from the issuer a browser sees. */
  readonly realmUrl: string
  readonly webSecret: string
}

/** The adapters behind the policies. */
export const policyPorts = ({ realmUrl, webSecret }: PolicyPortsOptions) =>
  Layer.mergeAll(
    signedTokens(`${realmUrl}${ENDPOINTS.keys}`),
    codeExchange({
      tokenUrl: `${realmUrl}${ENDPOINTS.token}`,
      clientId: REALM.webClient,
      clientSecret: Redacted.make(webSecret),
    }),
    loginSecrets,
    browserSessions,
  )

/** What the policies know of a stack. */
export const policySettings = ({ options, urls }: Pick<StackState, "options" | "urls">): GatewaySettings => {
  const issuer = issuerOf(urls.idp, REALM.name)
  return {
    routes: routesOf(options.gateway, options.variant),
    allowedPaths: ALLOWED_PATHS,
    realm: REALM.name,
    issuer,
    clientId: REALM.webClient,
    accessAudience: REALM.accessAudience,
    jwtRoles: options.jwtRoles,
    publicUrl: urls.proxy,
    authorizationUrl: `${issuer}${ENDPOINTS.authorization}`,
    endSessionUrl: `${issuer}${ENDPOINTS.endSession}`,
  }
}
