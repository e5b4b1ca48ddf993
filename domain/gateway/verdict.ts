/** A header to set: name in lower case, value. */
export type Header = readonly [name: string, value: string]

/** What the gateway does with a request. There is no fourth thing, and whoever cannot decide refuses. */
export type Verdict =
  | {
      readonly kind: "forward"
      /** Path and query for the upstream: the path that was judged. */
      readonly target: string
      /** Who is asking, as headers for the upstream; the client's own of these names never pass. */
      readonly identity: ReadonlyArray<Header>
      /** False when the route did not judge the `Authorization` header, so that nobody behind takes it for judged. */
      readonly keepAuthorization: boolean
    }
  | {
      readonly kind: "refuse"
      readonly status: 400 | 401 | 403 | 404 | 405 | 500 | 503
      readonly message: string
      readonly headers: ReadonlyArray<Header>
    }
  | { readonly kind: "redirect"; readonly location: string; readonly headers: ReadonlyArray<Header> }

export type Refusal = Extract<Verdict, { kind: "refuse" }>

const NO_STORE: Header = ["cache-control", "no-store"]

const refuse = (status: Refusal["status"], message: string, ...headers: ReadonlyArray<Header>): Refusal => ({
  kind: "refuse",
  status,
  message,
  headers: [NO_STORE, ...headers],
})

// Fixed sentences only: nothing a client sent is ever repeated to it.
export const badRequest: Refusal = refuse(400, "malformed request")
export const ambiguousPath: Refusal = refuse(403, "ambiguous path")
export const pathNotAllowed: Refusal = refuse(403, "path not allowed")
export const noRoute: Refusal = refuse(404, "no Route matched with those values")
export const wrongMethod: Refusal = refuse(405, "method not allowed", [
  "allow",
  "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
])
export const failed: Refusal = refuse(500, "authorization failed")
export const providerDown: Refusal = refuse(503, "identity provider unavailable", ["retry-after", "5"])
export const loginRefused: Refusal = refuse(401, "login refused")
export const loginUnknown: Refusal = refuse(400, "no such login is under way")
export const crossSite: Refusal = refuse(403, "cross-site request")

const challenge = (realm: string, error?: string): Header => [
  "www-authenticate",
  `Bearer realm="${realm}"${error === undefined ? "" : `, error="${error}"`}`,
]

/** No credentials came (RFC 6750 section 3: no error code then). */
export const unauthenticated = (realm: string): Verdict => refuse(401, "Unauthorized", challenge(realm))
/** The credentials are of the wrong kind, or no good (seed section 7). */
export const badToken = (realm: string): Verdict => refuse(401, "Unauthorized", challenge(realm, "invalid_token"))
export const missingRole = (realm: string): Verdict =>
  refuse(403, "missing role", challenge(realm, "insufficient_scope"))

export const redirect = (location: string, ...cookies: ReadonlyArray<string>): Verdict => ({
  kind: "redirect",
  location,
  headers: [NO_STORE, ...cookies.map((cookie): Header => ["set-cookie", cookie])],
})
