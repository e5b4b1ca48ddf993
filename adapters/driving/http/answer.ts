import { Cause, type Context, Effect, Exit, Tracer } from "effect"
import type { Answer } from "../http_server/answer.ts"
import type { HeaderLine } from "../http_server/header_lines.ts"
import { toResponse } from "../http_server/standard_fetch.ts"
import { describe, INTERNAL, problemAnswer, type ServiceError } from "./problem.ts"
import { type Asked, type Headed, requestInfo } from "./request_info.ts"

/** Something that is there now, or will be. */
export type Eventually<A> = A | Promise<A>

export const eventually = <A, B>(value: Eventually<A>, next: (value: A) => B): Eventually<B> =>
  value instanceof Promise ? value.then(next) : next(value)

/**
 * Runs use cases for requests and answers with what they gave.
 *
 * @typeParam R services the programs may ask for; they were built once, at start
 */
export interface Answerer<R = never> {
  /** True when every answer has a span: what would answer without a program must not. */
  readonly traced: boolean
  /** Runs the program; answers with `render` of its value, or with the problem of its error. */
  readonly answer: <A>(
    request: Asked,
    program: Effect.Effect<A, ServiceError, R>,
    render: (value: A) => Answer,
  ) => Eventually<Answer>
  /** {@link answer} for a router. */
  readonly respond: <A>(
    request: Request,
    program: Effect.Effect<A, ServiceError, R>,
    render: (value: A) => Answer,
  ) => Eventually<Response>
  /** Runs a program that only decides: `undefined` lets the request through. */
  readonly decide: (
    request: Request,
    program: Effect.Effect<unknown, ServiceError, R>,
  ) => Eventually<Response | undefined>
}

/** The caller's span, from the header of W3C Trace Context (level 1, section 3.2). */
const TRACEPARENT_REGEXP = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

const callersSpan = (request: Headed): Tracer.ExternalSpan | undefined => {
  const [, traceId, spanId, flags] = TRACEPARENT_REGEXP.exec(request.headers.get("traceparent") ?? "") ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  return Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags ?? "0", 16) & 1) === 1 })
}

/** One span a request, named by its route; attributes by OpenTelemetry's conventions for HTTP servers. */
const inSpan = <A, E, R>(request: Asked, program: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  const { id, route } = requestInfo(request)
  const parent = callersSpan(request)
  return Effect.withSpan(program, `${request.method} ${route ?? "unmatched"}`, {
    kind: "server",
    attributes: { "http.request.method": request.method, "http.route": route ?? "unmatched", "request.id": id },
    ...(parent === undefined ? {} : { parent }),
  }) as Effect.Effect<A, E, R>
}

/**
 * @param context the services the programs use, loggers among them
 * @param traced true when somebody collects spans; they cost more than most programs
 */
export const makeAnswerer = <R>(context: Context.Context<R>, traced = false): Answerer<R> => {
  const fork = Effect.runForkWith(context)

  /** A program that never waits (a cached token, a cached record) is answered without a promise. */
  const run = <A, E>(program: Effect.Effect<A, E, R>): Eventually<Exit.Exit<A, E>> => {
    const fiber = fork(program)
    return fiber.pollUnsafe() ?? new Promise((resolve) => fiber.addObserver(resolve))
  }

  const refuse = (request: Asked, cause: Cause.Cause<ServiceError>): Answer => {
    const error = Cause.findErrorOption(cause)
    const { id } = requestInfo(request)
    if (error._tag === "None") {
      fork(Effect.logError("Unexpected failure", cause).pipe(Effect.annotateLogs("requestId", id)))
      return problemAnswer(id, INTERNAL)
    }
    const problem = describe(error.value)
    // It says something about the service rather than about the request: an operator must see it.
    if (problem.status >= 500) fork(Effect.logError(error.value.message).pipe(Effect.annotateLogs("requestId", id)))
    return problemAnswer(id, problem)
  }

  const answer: Answerer<R>["answer"] = (request, program, render) =>
    eventually(run(traced ? inSpan(request, program) : program), (exit) =>
      Exit.isSuccess(exit) ? render(exit.value) : refuse(request, exit.cause),
    )

  return {
    traced,
    answer,
    respond: (request, program, render) => eventually(answer(request, program, render), toResponse),
    decide: (request, program) =>
      eventually(run(program), (exit) => (Exit.isSuccess(exit) ? undefined : toResponse(refuse(request, exit.cause)))),
  }
}

/** The success envelope of seed 2.1 around a value that is already JSON text. */
export const envelope = (data: string): string => `{"response":"OK","data":${data}}`

const JSON_TYPE = ["content-type", "application/json"] as const

/** A JSON answer of the service. */
export const jsonAnswer = (
  request: Asked,
  status: number,
  body: string,
  headers: ReadonlyArray<HeaderLine> = [],
): Answer => ({ status, headers: [JSON_TYPE, ["x-request-id", requestInfo(request).id], ...headers], body })
