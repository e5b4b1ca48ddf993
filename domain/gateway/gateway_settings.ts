import type { Route } from "./route_profile.ts"

/** Everything the policies know beyond the request. Nothing here comes from a request, the public address included. */
export interface GatewaySettings {
  readonly routes: ReadonlyArray<Route>
  /** Paths below `/open` that pass. */
  readonly allowedPaths: ReadonlyArray<string>
  /** Name of the realm, as challenges show it. */
  readonly realm: string
  /** The only accepted `iss`, compared character by character. */
  readonly issuer: string
  /** Client of the browser login; the audience of acceptable ID tokens. */
  readonly clientId: string
  /** Audience `/api-access` asks for. */
  readonly accessAudience: string
  /** Realm roles `/jwt` asks for, any one of them; none asks for no role. */
  readonly jwtRoles: ReadonlyArray<string>
  /** Origin a browser reaches the gateway at, such as `http://localhost:8000`. */
  readonly publicUrl: string
  /** Endpoints of the identity provider a browser is sent to. */
  readonly authorizationUrl: string
  readonly endSessionUrl: string
}
