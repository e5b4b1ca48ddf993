import { expect } from "bun:test"
import type { TestService } from "./test_service.ts"

/** A problem body as a client reads it. */
export interface ProblemBody {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance: string
  readonly code: string
  readonly requestId: string
  readonly errors?: ReadonlyArray<{ readonly pointer: string; readonly message: string }>
}

/** Checks the whole form of a problem answer (RFC 9457) and gives its body. */
export const expectProblem = async (response: Response, status: number, code: string): Promise<ProblemBody> => {
  const body = (await response.json()) as ProblemBody
  expect({ status: response.status, code: body.code }).toEqual({ status, code })
  expect(response.headers.get("content-type")).toBe("application/problem+json")
  expect(body).toMatchObject({
    type: `urn:portolan:error:${code}`,
    status,
    instance: `urn:portolan:request:${body.requestId}`,
  })
  expect([typeof body.title, typeof body.detail]).toEqual(["string", "string"])
  expect(response.headers.get("x-request-id")).toBe(body.requestId)
  return body
}

/** Like {@link expectProblem}, and the store was not called. */
export const expectRefusal = async (
  service: TestService,
  send: () => Promise<Response>,
  status: number,
  code: string,
): Promise<ProblemBody> => {
  const before = service.storeCalls()
  const body = await expectProblem(await send(), status, code)
  expect(service.storeCalls()).toBe(before)
  return body
}
