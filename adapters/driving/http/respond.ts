import { absurd, Cause, type Context, Effect, Exit, Scope } from "effect"
import { describe, type ServiceError } from "./problem.ts"
import { INTERNAL, PROBLEM_TYPE, type Problem, problemBody } from "./problem_body.ts"
import { type RequestContext, requestIdOf } from "./request_context.ts"
import type { RequestSpans } from "./request_span.ts"
import { type Send, type SlowReader, streamBody } from "./stream_body.ts"

/** Something that is there now, or will be. */
type Eventually<A> = A | Promise<A>

/** What a use case's value becomes for the client. */
export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
}

/** An answer that is sent piece by piece, for as long as `work` goes on. */
export interface StreamAnswer<R> {
  readonly headers: Readonly<Record<string, string>>
  readonly work: (send: Send) => Effect.Effect<void, ServiceError | SlowReader, R>
  /** True for an answer that has an end: when `work` fails, its client must see that it is not whole. False when omitted. */
  readonly whole?: boolean
}

/**
 * Runs use cases for requests and turns what they gave into answers: a value by `render`, an error into its problem.
 *
 * @typeParam R services the programs may ask for; they were built once, at start
 */
export interface Responder<R = never> {
  /**
   * Sets status and headers of the answer, and gives its body.
   *
   * @param program a function, so that the request's span covers all of its work
   */
  readonly respond: <A>(
    context: RequestContext,
    program: () => Effect.Effect<A, ServiceError, R>,
    render: (value: A) => Answer,
  ) => Eventually<string>
  /**
   * Answers with a stream, or with a problem when it cannot be opened. What `open` acquires is released when the work has ended,
   * the client has gone, or the client reads too slowly. To HEAD it only says what it would have begun.
   */
  readonly stream: (
    context: RequestContext,
    open: () => Effect.Effect<StreamAnswer<R>, ServiceError, R | Scope.Scope>,
  ) => Eventually<string | Response>
  /** Runs a program that only decides: `undefined` lets the request through, a text is the body of its refusal. */
  readonly decide: (
    context: RequestContext,
    program: Effect.Effect<unknown, ServiceError, R>,
  ) => Eventually<string | undefined>
}

/** Answers with a problem: sets status and headers, gives the body. */
export const respondProblem = (context: RequestContext, problem: Problem): string => {
  const { set } = context
  set.status = problem.status
  set.headers["content-type"] = PROBLEM_TYPE
  Object.assign(set.headers, problem.headers)
  return problemBody(requestIdOf(context), problem)
}

/** What the log is told of a stream that did not come to its end; nothing when its client went away. */
const endOf = (cause: Cause.Cause<ServiceError | SlowReader>): Effect.Effect<void> => {
  const error = Cause.findErrorOption(cause)
  if (error._tag === "Some" && error.value._tag === "SlowReader") return Effect.logWarning(error.value.message)
  return Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError("A stream ended", cause)
}

/** True for a program that has its result already: an `Exit` is an `Effect`. */
const isComplete = <A, E, R>(program: Effect.Effect<A, E, R>): program is Exit.Exit<A, E> => Exit.isExit(program)

/**
 * @param context the services the programs use, loggers among them
 * @param spans those of the requests, when somebody collects them: every program then runs in one
 */
export const makeResponder = <R>(context: Context.Context<R>, spans?: RequestSpans): Responder<R> => {
  const within = <A, E, S>(request: RequestContext, program: Effect.Effect<A, E, S>) =>
    spans === undefined ? program : spans.within(request, program)
  const fork = Effect.runForkWith(context)

  /** A remembered token and a row that was read at once are complete: they need no fiber. */
  const run = <A, E>(program: Effect.Effect<A, E, R>): Eventually<Exit.Exit<A, E>> => {
    if (isComplete(program)) return program
    const fiber = fork(program)
    return fiber.pollUnsafe() ?? new Promise((resolve) => fiber.addObserver(resolve))
  }

  const refuse = (request: RequestContext, cause: Cause.Cause<ServiceError>): string => {
    const error = Cause.findErrorOption(cause)
    const log = (entry: Effect.Effect<void>) =>
      fork(within(request, Effect.annotateLogs(entry, "requestId", requestIdOf(request))))
    if (error._tag === "None") {
      log(Effect.logError("Unexpected failure", cause))
      return respondProblem(request, INTERNAL)
    }
    const problem = describe(error.value)
    // It says something about the service rather than about the request: an operator must see it.
    if (problem.status >= 500) log(Effect.logError(error.value.message))
    return respondProblem(request, problem)
  }

  const settle = <A, B>(
    request: RequestContext,
    program: Effect.Effect<A, ServiceError, R>,
    succeed: (value: A) => B,
  ): Eventually<B | string> => {
    const finish = (exit: Exit.Exit<A, ServiceError>) =>
      Exit.isSuccess(exit) ? succeed(exit.value) : refuse(request, exit.cause)
    const exit = run(program)
    return exit instanceof Promise ? exit.then(finish) : finish(exit)
  }

  return {
    respond: (request, program, render) =>
      settle(request, spans === undefined ? program() : within(request, Effect.suspend(program)), (value) => {
        const { status, headers, body } = render(value)
        const { set } = request
        set.status = status
        // Not modified: there is no content (RFC 9110 section 15.4.5).
        if (status !== 304) set.headers["content-type"] = "application/json"
        Object.assign(set.headers, headers)
        requestIdOf(request)
        return body
      }),
    stream: (request, open) => {
      const scope = Scope.makeUnsafe()
      const close = Scope.close(scope, Exit.void)
      const opened = Effect.onError(Scope.provide(Effect.suspend(open), scope), () => close)
      return settle(request, within(request, opened), ({ headers, work, whole = false }) => {
        const { set } = request
        set.status = 200
        Object.assign(set.headers, headers)
        const requestId = requestIdOf(request)
        if (request.request.method === "HEAD") {
          fork(close)
          return ""
        }
        // The stream may last for hours; the request's span is about its opening.
        const body = streamBody((send) => {
          const logged = Effect.tapCause(work(send), (cause) =>
            Effect.annotateLogs(endOf(cause), "requestId", requestId),
          )
          return fork(Effect.ensuring(whole ? logged : Effect.ignoreCause(logged), close))
        })
        return new Response(body, { headers })
      })
    },
    decide: (request, program) => settle(request, within(request, program), () => undefined),
  }
}

/** A handler that refuses every request with the same error. */
export const refusing =
  <R>({ respond }: Responder<R>, error: ServiceError) =>
  async ({ request, set, route }: RequestContext): Promise<string> =>
    respond({ request, set, route }, () => Effect.fail(error), absurd)

/** The success envelope of specification 2.1 around a value that is already JSON text. */
export const envelope = (data: string): string => `{"response":"OK","data":${data}}`
