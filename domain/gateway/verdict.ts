/** A header to set: name in lower case, value. */
export type Header = readonly [name: string, value: string]

/** What the gateway does with a request. A policy that cannot decide refuses. */
export type Verdict =
  | {
      readonly kind: "forward"
      /** Path and query for the upstream: the path that was judged. */
      readonly target: string
      /** Who is asking, as headers for the upstream; the client's own of these names never pass. */
      readonly identity: ReadonlyArray<Header>
      /** False when the route did not judge the `Authorization` header: the upstream would take it for judged. */
      readonly keepAuthorization: boolean
    }
  | {
      readonly kind: "refuse"
      readonly status: 400 | 401 | 403 | 404 | 405 | 500 | 503
      readonly message: string
      readonly headers: ReadonlyArray<Header>
    }
  | { readonly kind: "redirect"; readonly location: string; readonly headers: ReadonlyArray<Header> }

type Refused = Extract<Verdict, { kind: "refuse" }>

const NO_STORE: Header = ["cache-control", "no-store"]

const refuse = (status: Refused["status"], message: string, ...headers: ReadonlyArray<Header>): Refused => ({
  kind: "refuse",
  status,
  message,
  headers: [NO_STORE, ...headers],
})

// Every message is a fixed sentence: nothing that a client sent is repeated to it.

/** No valid HTTP request, or one with two hosts or two credentials. */
export const badRequest: Refused = refuse(400, "malformed request")
/** The path can be read in more than one way. */
export const ambiguousPath: Refused = refuse(403, "ambiguous path")
/** The path-allow policy does not name the path (specification 7). */
export const pathNotAllowed: Refused = refuse(403, "path not allowed")
/** No route has the path. */
export const noRoute: Refused = refuse(404, "no Route matched with those values")
/** A method that is never let through. */
export const wrongMethod: Refused = refuse(405, "method not allowed", [
  "allow",
  "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
])
/** A policy failed: what was not judged is refused. */
export const failed: Refused = refuse(500, "authorization failed")
/** The realm's keys or tokens cannot be fetched now. */
export const providerDown: Refused = refuse(503, "identity provider unavailable", ["retry-after", "5"])
/** The identity provider or its user refused the login. */
export const loginRefused: Refused = refuse(401, "login refused")
/** A callback that belongs to no login of this browser. */
export const loginUnknown: Refused = refuse(400, "no such login is under way")
/** Another site asked for a logout. */
export const crossSite: Refused = refuse(403, "cross-site request")

const challenge = (realm: string, error?: string): Header => [
  "www-authenticate",
  `Bearer realm="${realm}"${error === undefined ? "" : `, error="${error}"`}`,
]

/** No credentials came: a challenge without an error code (RFC 6750 section 3). */
export const unauthenticated = (realm: string): Verdict => refuse(401, "Unauthorized", challenge(realm))
/** The token is invalid or of the wrong kind (specification 7). */
export const badToken = (realm: string): Verdict => refuse(401, "Unauthorized", challenge(realm, "invalid_token"))
/** The token is good and holds none of the roles asked for (specification 5.3). */
export const missingRole = (realm: string): Verdict =>
  refuse(403, "missing role", challenge(realm, "insufficient_scope"))

/**
 * Sends the browser elsewhere.
 *
 * @param cookies values of `Set-Cookie` headers
 */
export const redirect = (location: string, ...cookies: ReadonlyArray<string>): Verdict => ({
  kind: "redirect",
  location,
  headers: [NO_STORE, ...cookies.map((cookie): Header => ["set-cookie", cookie])],
})
