import type { Route } from "./route_profile.ts"

/** What the policies know beside the request. All of it is configured, the public address too: nothing comes from a request. */
export interface GatewaySettings {
  readonly routes: ReadonlyArray<Route>
  /** Paths below `/open` that pass. */
  readonly allowedPaths: ReadonlyArray<string>
  /** Name of the realm, as challenges show it. */
  readonly realm: string
  /** The only accepted `iss`, compared character by character. */
  readonly issuer: string
  /** Client of the browser login, and the audience of accepted ID tokens. */
  readonly clientId: string
  /** Audience `/api-access` asks for. */
  readonly accessAudience: string
  /** Realm roles `/jwt` asks for, any one of them; none asks for no role. */
  readonly jwtRoles: ReadonlyArray<string>
  /** Origin a browser reaches the gateway at, such as `http://localhost:8000`. */
  readonly publicUrl: string
  /** Endpoint of the identity provider that a browser is sent to for a login. */
  readonly authorizationUrl: string
  /** Endpoint of the identity provider that a browser is sent to after a logout. */
  readonly endSessionUrl: string
}
