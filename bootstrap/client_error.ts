/** A broken rule of a submitted record. */
export interface BrokenRule {
  /** Place in the body, a JSON Pointer (RFC 6901). */
  readonly pointer: string
  readonly message: string
}

/** The service, or something before it, refused a request. */
export class ApiError extends Error {
  override readonly name = "ApiError"
  readonly status: number
  /** Stable name of the error, such as `RECORD_NOT_FOUND`; `UNKNOWN` when the answer is not the service's. */
  readonly code: string
  /** The broken rules, with 422. */
  readonly errors: ReadonlyArray<BrokenRule>
  /** Under which the service's log knows the request. */
  readonly requestId: string | undefined
  /** Seconds after which to try again, when the answer says so. */
  readonly retryAfterS: number | undefined

  constructor(message: string, answer: Pick<ApiError, "status" | "code" | "errors" | "requestId" | "retryAfterS">) {
    super(message)
    this.status = answer.status
    this.code = answer.code
    this.errors = answer.errors
    this.requestId = answer.requestId
    this.retryAfterS = answer.retryAfterS
  }
}

/** A problem body as far as it is one (RFC 9457). */
interface Problem {
  readonly detail?: unknown
  readonly code?: unknown
  readonly errors?: unknown
}

const readProblem = async (response: Response): Promise<Problem> => {
  if (!response.headers.get("content-type")?.startsWith("application/problem+json")) return {}
  try {
    const body: unknown = await response.json()
    return typeof body === "object" && body !== null ? body : {}
  } catch {
    // The status says enough: a gateway may have cut the body off.
    return {}
  }
}

/** The error that an answer is. */
export const problemOf = async (response: Response): Promise<ApiError> => {
  const { detail, code, errors } = await readProblem(response)
  const { status, headers } = response
  const retryAfter = Number(headers.get("retry-after") ?? Number.NaN)
  return new ApiError(typeof detail === "string" ? detail : `The service answered ${status}`, {
    status,
    code: typeof code === "string" ? code : "UNKNOWN",
    errors: Array.isArray(errors) ? errors : [],
    requestId: headers.get("x-request-id") ?? undefined,
    retryAfterS: Number.isFinite(retryAfter) ? retryAfter : undefined,
  })
}
