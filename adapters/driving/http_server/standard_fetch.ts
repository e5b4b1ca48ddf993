import type { Answer } from "./answer.ts"
import type { ArrivedRequest } from "./arrived_request.ts"
import type { HeaderLine } from "./header_lines.ts"

/** The one kind of answer that is sent as it comes; any other is held whole, to say its length. */
const EVENT_STREAM = "text/event-stream"

/**
 * The request as the standard has it, or why it has no such request.
 *
 * @see https://fetch.spec.whatwg.org/#request-class
 */
export const toRequest = ({ method, url, headers, body }: ArrivedRequest): Request | "malformed" | "unknown-method" => {
  if (url === "") return "malformed"
  // The standard has no GET with a body; what comes is left unread.
  const sent = method === "GET" || method === "HEAD" ? null : body
  try {
    const request = new Request(url, {
      method,
      headers: headers.lines(),
      ...(sent === null ? {} : { body: sent, duplex: "half" }),
    })
    // A runtime may read a method it does not know as GET.
    return request.method === method ? request : "unknown-method"
  } catch {
    return "unknown-method"
  }
}

/** An answer as a standard response. */
export const toResponse = ({ status, headers, body }: Answer): Response =>
  new Response(body as ConstructorParameters<typeof Response>[0], {
    status,
    headers: headers as Array<[string, string]>,
  })

/** A standard response as an answer. */
export const toAnswer = async (response: Response): Promise<Answer> => {
  const headers: Array<HeaderLine> = []
  response.headers.forEach((value, name) => {
    headers.push([name, value])
  })
  const streams = response.headers.get("content-type")?.startsWith(EVENT_STREAM) === true
  // Asking for `body` alone would make a stream of it.
  return { status: response.status, headers, body: streams ? response.body : await response.bytes() }
}
