import { timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import { connectionFailure } from "./connection_failure.ts"
import type { Service } from "./state.ts"

/** Header that marks a question of the stack itself; its value is the secret of this run. */
const CONTROL_HEADER = "x-portolan-control"

/** What a service says of itself. */
export interface ServiceReport {
  readonly service: Service
  readonly pid: number
  /** Requests answered since the start, questions of the stack not counted. */
  readonly hits: number
}

/** Compares with a secret in a time that does not depend on where the two differ. */
export const isSameSecret = (given: string, secret: string): boolean => {
  const [a, b] = [Buffer.from(given), Buffer.from(secret)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** True when the stack is asking. The path does not matter, so no path of the service is taken away. */
export const isControl = (headers: IncomingHttpHeaders, secret: string): boolean => {
  const given = headers[CONTROL_HEADER]
  return typeof given === "string" && isSameSecret(given, secret)
}

/** Answers the stack's question. */
export const answerControl = (request: IncomingMessage, response: ServerResponse, report: ServiceReport): void => {
  request.resume()
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify(report))
}

/**
 * Asks a service who it is.
 *
 * @param timeoutMs milliseconds to wait
 * @returns its report, or why there is none
 */
export const askControl = async (url: string, secret: string, timeoutMs = 2000): Promise<ServiceReport | string> => {
  try {
    const response = await fetch(url, {
      headers: { [CONTROL_HEADER]: secret },
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    })
    const text = await response.text()
    if (response.status !== 200 || !text.startsWith('{"service":')) return "another program answers there"
    return JSON.parse(text) as ServiceReport
  } catch (failure) {
    return connectionFailure(failure)
  }
}
