import { Effect, Exit, type Tracer } from "effect"

/** What is done around each call of a port; it must run the call once and give what the call gives. */
export type Around = <A, E, R>(
  operation: string,
  args: ReadonlyArray<unknown>,
  call: () => Effect.Effect<A, E, R>,
) => Effect.Effect<A, E, R>

type Observable =
  | Effect.Effect<unknown, unknown, unknown>
  | ((...args: never) => Effect.Effect<unknown, unknown, unknown>)

/** The functions of a port that give something else than an effect: a text, or a stream. */
type Besides<S> = {
  [K in keyof S & string]: S[K] extends Observable ? never : S[K] extends (...args: never) => unknown ? K : never
}[keyof S & string]

/**
 * A layer around a port: the same port, with something done around each of its effects.
 *
 * @param besides the functions that give no effect, by name; they stay as they are
 */
export const observed = <S extends object>(port: S, besides: Readonly<Record<Besides<S>, true>>, around: Around): S =>
  Object.fromEntries(
    Object.entries(port).map(([operation, member]: [string, unknown]) => {
      if (Effect.isEffect(member)) return [operation, Effect.suspend(() => around(operation, [], () => member))]
      if (typeof member !== "function" || operation in besides) return [operation, member]
      return [operation, (...args: ReadonlyArray<unknown>) => around(operation, args, () => member(...args))]
    }),
  ) as S

/** How the span of a call is called, and what it says. */
export interface CallSpan {
  readonly name: string
  readonly kind: Tracer.SpanKind
  readonly attributes: Readonly<Record<string, string>>
}

/**
 * One span a call, beneath the span of whoever calls. Work that belongs to no trace, such as looking for what others left, has
 * none: it would be a trace of its own every few seconds.
 *
 * @param describe gives the span of a call
 * @param isAnswer true for a failure that is an answer, such as "there is none": it is no error of the call
 */
export const tracing =
  (
    describe: (operation: string, args: ReadonlyArray<unknown>) => CallSpan,
    isAnswer: (failure: unknown) => boolean = () => false,
  ): Around =>
  <A, E, R>(operation: string, args: ReadonlyArray<unknown>, call: () => Effect.Effect<A, E, R>) =>
    Effect.matchEffect(Effect.currentParentSpan, {
      onFailure: call,
      onSuccess: () => {
        const { name, kind, attributes } = describe(operation, args)
        const answer: Effect.Effect<Exit.Exit<A, E>, E, R> = Effect.suspend(call).pipe(
          Effect.map((value) => Exit.succeed(value)),
          Effect.catchIf(isAnswer, (failure) => Effect.succeed(Exit.fail(failure as E))),
        )
        return Effect.flatten(Effect.withSpan(answer, name, { kind, attributes, captureStackTrace: false }))
      },
    })

/**
 * Tells of the end of each call: which operation, how long it took, how it ended. A call that is complete when it returns
 * stays complete.
 */
export const timing =
  (ended: (operation: string, durationMs: number, exit: Exit.Exit<unknown, unknown>) => void): Around =>
  (operation, _args, call) => {
    const began = performance.now()
    const answer = call()
    const end = (exit: Exit.Exit<unknown, unknown>) => ended(operation, performance.now() - began, exit)
    if (!Exit.isExit(answer)) return Effect.onExit(answer, (exit) => Effect.sync(() => end(exit)))
    end(answer)
    return answer
  }
