import { Cause, Exit, Option, Tracer } from "effect"
import { isObject } from "../domain/json_object.ts"

/** What a span says of a failure: its kind alone. */
class SpanFailure extends Error {
  constructor(type: string) {
    super(type)
    this.name = type
    // The lines of a stack name files, and its first line repeats the message.
    this.stack = type
  }
}

/** The kind of a failure: the tag of an error of ours, else the class of what was thrown. */
const typeOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.findErrorOption(cause)
  if (Option.isNone(error)) return "Defect"
  const failure = error.value
  return isObject(failure) && typeof failure["_tag"] === "string" ? failure["_tag"] : "Error"
}

/**
 * A tracer whose spans never repeat the text of a failure: that may quote a secret, and a collector belongs to somebody else.
 * A failed span has `error.type` and nothing more.
 *
 * @see OpenTelemetry semantic conventions, attribute `error.type`
 */
export const discreetTracer = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    ...tracer,
    span: (options) => {
      const span = tracer.span(options)
      const end = span.end.bind(span)
      span.end = (endTime, exit) => {
        if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return end(endTime, exit)
        const type = typeOf(exit.cause)
        span.attribute("error.type", type)
        end(endTime, Exit.fail(new SpanFailure(type)))
      }
      return span
    },
  })
