/** One answered request, as log and metrics see it. */
export interface AnsweredRequest {
  readonly method: string
  /** Path without the query, which may hold secrets. */
  readonly path: string
  /** Pattern of the matched route (`/api/products/:id`), or `unmatched`. */
  readonly route: string
  readonly status: number
  /** Time from the request's arrival to its answer, milliseconds. */
  readonly durationMs: number
  readonly requestId: string
}
