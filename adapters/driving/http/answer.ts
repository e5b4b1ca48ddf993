import { Cause, type Context, Effect, Exit } from "effect"
import { describe, INTERNAL, problemResponse, type ServiceError } from "./problem.ts"
import { requestInfo } from "./request_info.ts"

/** Something that is there now, or will be. */
export type Eventually<A> = A | Promise<A>

const eventually = <A, B>(value: Eventually<A>, next: (value: A) => B): Eventually<B> =>
  value instanceof Promise ? value.then(next) : next(value)

/**
 * Runs use cases for requests and answers with what they gave.
 *
 * @typeParam R services the programs may ask for; they were built once, at start
 */
export interface Answerer<R = never> {
  /** Runs the program; answers with `render` of its value, or with the problem of its error. */
  readonly answer: <A>(
    request: Request,
    program: Effect.Effect<A, ServiceError, R>,
    render: (value: A) => Response,
  ) => Eventually<Response>
  /** Runs a program that only decides: `undefined` lets the request through. */
  readonly decide: (
    request: Request,
    program: Effect.Effect<unknown, ServiceError, R>,
  ) => Eventually<Response | undefined>
}

/** @param context the services the programs use, loggers among them */
export const makeAnswerer = <R>(context: Context.Context<R>): Answerer<R> => {
  const fork = Effect.runForkWith(context)

  /** A program that never waits (a cached token, a cached record) is answered without a promise. */
  const run = <A, E>(program: Effect.Effect<A, E, R>): Eventually<Exit.Exit<A, E>> => {
    const fiber = fork(program)
    return fiber.pollUnsafe() ?? new Promise((resolve) => fiber.addObserver(resolve))
  }

  const refuse = (request: Request, cause: Cause.Cause<ServiceError>): Response => {
    const error = Cause.findErrorOption(cause)
    const { id } = requestInfo(request)
    if (error._tag === "None") {
      fork(Effect.logError("Unexpected failure", cause).pipe(Effect.annotateLogs("requestId", id)))
      return problemResponse(request, INTERNAL)
    }
    const problem = describe(error.value)
    // It says something about the service rather than about the request: an operator must see it.
    if (problem.status >= 500) fork(Effect.logError(error.value.message).pipe(Effect.annotateLogs("requestId", id)))
    return problemResponse(request, problem)
  }

  return {
    answer: (request, program, render) =>
      eventually(run(program), (exit) => (Exit.isSuccess(exit) ? render(exit.value) : refuse(request, exit.cause))),
    decide: (request, program) =>
      eventually(run(program), (exit) => (Exit.isSuccess(exit) ? undefined : refuse(request, exit.cause))),
  }
}

/** The success envelope of seed 2.1 around a value that is already JSON text. */
export const envelope = (data: string): string => `{"response":"OK","data":${data}}`

/** A JSON answer of the service. */
export const jsonResponse = (
  request: Request,
  status: number,
  body: string,
  headers?: Readonly<Record<string, string>>,
): Response =>
  new Response(body, {
    status,
    headers: { "content-type": "application/json", "x-request-id": requestInfo(request).id, ...headers },
  })
