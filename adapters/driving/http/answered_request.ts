/** Route of a request that was refused because too many were running: nobody looked where it was to go. */
export const OVERLOADED_ROUTE = "overloaded"

/** Route of a browser's question whether a page of another origin may send a request. */
export const PREFLIGHT_ROUTE = "preflight"

/** One answered request, as log and metrics see it. */
export interface AnsweredRequest {
  readonly method: string
  /** Path without the query, which may hold secrets. */
  readonly path: string
  /** Pattern of the matched route (`/api/products/:id`), `unmatched`, {@link OVERLOADED_ROUTE} or {@link PREFLIGHT_ROUTE}. */
  readonly route: string
  readonly status: number
  /** Time from the request's arrival to its answer, milliseconds. */
  readonly durationMs: number
  readonly requestId: string
}
