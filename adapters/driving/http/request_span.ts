import { Clock, type Context, Effect, Exit, Option, type Tracer } from "effect"
import * as Headers from "effect/http/Headers"
import * as HttpTraceContext from "effect/http/HttpTraceContext"
import type { AnsweredRequest } from "./answered_request.ts"
import { type RequestContext, requestIdOf } from "./request_context.ts"

/** The caller's span, from the `traceparent` header (W3C Trace Context, level 1, section 3.2). */
const callersSpan = ({ request }: Pick<RequestContext, "request">) =>
  HttpTraceContext.w3c(Headers.fromInput({ traceparent: request.headers.get("traceparent") ?? "" }))

/**
 * One span a request, from its first program to its answer, under the caller's span.
 *
 * @see OpenTelemetry semantic conventions for HTTP servers
 */
export interface RequestSpans {
  /** Runs a program within the span of its request, which begins with the first one. */
  readonly within: <A, E, R>(context: RequestContext, program: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Ends the span of an answered request; one that ran no program has its span made now. Gives the id of the trace. */
  readonly end: (request: Request, answered: AnsweredRequest) => string
}

/** @param services those of the whole service, with the tracer */
export const makeRequestSpans = (services: Context.Context<never>): RequestSpans => {
  const runSync = Effect.runSyncWith(services)
  const open = new WeakMap<Request, Tracer.Span>()

  const begin = (request: Request, route: string, path: string) => {
    const span = runSync(
      Effect.makeSpan(`${request.method} ${route}`, {
        kind: "server",
        ...Option.match(callersSpan({ request }), { onNone: () => ({}), onSome: (parent) => ({ parent }) }),
        attributes: { "http.request.method": request.method, "http.route": route, "url.path": path },
      }),
    )
    open.set(request, span)
    return span
  }

  return {
    within: (context, program) => {
      const { request, route = "unmatched" } = context
      const span = open.get(request) ?? begin(request, route, new URL(request.url).pathname)
      span.attribute("request.id", requestIdOf(context))
      return Effect.withParentSpan(program, span)
    },
    end: (request, { route, path, status, requestId }) => {
      const span = open.get(request) ?? begin(request, route, path)
      span.attribute("request.id", requestId)
      span.attribute("http.response.status_code", status)
      span.end(runSync(Clock.currentTimeNanos), status >= 500 ? Exit.fail({ _tag: String(status) }) : Exit.void)
      return span.traceId
    },
  }
}
