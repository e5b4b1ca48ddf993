/** Route of a request that was refused because too many were running: nobody looked where it was to go. */
export const OVERLOADED_ROUTE = "overloaded"

/** One answered request, as log and metrics see it. */
export interface AnsweredRequest {
  readonly method: string
  /** Path without the query, which may hold secrets. */
  readonly path: string
  /** Pattern of the matched route (`/api/products/:id`), `unmatched`, or {@link OVERLOADED_ROUTE}. */
  readonly route: string
  readonly status: number
  /** Time from the request's arrival to its answer, milliseconds. */
  readonly durationMs: number
  readonly requestId: string
}
