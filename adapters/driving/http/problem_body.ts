import type { Issue } from "../../../domain/issue.ts"

/** What a client is told: fixed sentences and rules, never a submitted value, a token, a stack or a driver's text. */
export interface Problem {
  readonly status: number
  /** Stable name of the error; adapters/driving/http/README.md lists them. */
  readonly code: string
  readonly title: string
  readonly detail: string
  readonly errors?: ReadonlyArray<Issue>
  readonly headers?: Readonly<Record<string, string>>
  /** Extension members of this error alone. */
  readonly extra?: Readonly<Record<string, unknown>>
}

/** Media type of every error body (RFC 9457 section 3). */
export const PROBLEM_TYPE = "application/problem+json"

/** Anything unexpected: the log has the cause, the client gets this. */
export const INTERNAL: Problem = {
  status: 500,
  code: "INTERNAL",
  title: "Internal error",
  detail: "Something unexpected happened; the service's log knows it by the request id",
}

/**
 * The body of a problem as JSON text.
 *
 * @param id of the request
 * @see RFC 9457; `code`, `errors` and `requestId` are extension members
 */
export const problemBody = (id: string, { status, code, title, detail, errors, extra }: Problem): string =>
  JSON.stringify({
    type: `urn:portolan:error:${code}`,
    title,
    status,
    detail,
    instance: `urn:portolan:request:${id}`,
    code,
    ...(errors === undefined ? {} : { errors }),
    ...extra,
    requestId: id,
  })
