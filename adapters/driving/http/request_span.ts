import { Effect, Option } from "effect"
import * as Headers from "effect/http/Headers"
import * as HttpTraceContext from "effect/http/HttpTraceContext"
import { type RequestContext, requestIdOf } from "./request_context.ts"

/** The caller's span, from the `traceparent` header (W3C Trace Context, level 1, section 3.2). */
const callersSpan = ({ request }: RequestContext) =>
  HttpTraceContext.w3c(Headers.fromInput({ traceparent: request.headers.get("traceparent") ?? "" }))

/**
 * Runs a program in one span of the request, named by its route, under the caller's span.
 *
 * @see OpenTelemetry semantic conventions for HTTP servers
 */
export const inRequestSpan = <A, E, R>(
  context: RequestContext,
  program: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> => {
  const { request, route = "unmatched" } = context
  const traced = Effect.withSpan(program, `${request.method} ${route}`, {
    kind: "server",
    attributes: { "http.request.method": request.method, "http.route": route, "request.id": requestIdOf(context) },
  })
  return Option.match(callersSpan(context), {
    onNone: () => traced,
    onSome: (span) => Effect.withParentSpan(traced, span),
  }) as Effect.Effect<A, E, R>
}
