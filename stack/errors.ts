import { Data } from "effect"

/** The stack was asked for something that cannot be; nothing was started or stopped: exit code 2. */
export class StackRefused extends Data.TaggedError("StackRefused")<{ readonly reasons: ReadonlyArray<string> }> {
  readonly code = "STACK_REFUSED"
  readonly exitCode = 2
  override get message(): string {
    return this.reasons.map((reason) => `refused: ${reason}`).join("\n")
  }
}

/** A part of the stack did not do what it should; what runs was left as it is: exit code 1. */
export class StackFailed extends Data.TaggedError("StackFailed")<{
  readonly part: string
  readonly reason: string
  /** Last lines of the part's log, secrets hidden. */
  readonly log: ReadonlyArray<string>
}> {
  readonly code = "STACK_FAILED"
  override get message(): string {
    const tail = this.log.length === 0 ? "" : `\n${this.log.map((line) => `  ${line}`).join("\n")}`
    return `${this.part}: ${this.reason}${tail}`
  }
}

/** There is no stack to ask: exit code 3. */
export class StackNotRunning extends Data.TaggedError("StackNotRunning")<Record<never, never>> {
  readonly code = "STACK_NOT_RUNNING"
  readonly exitCode = 3
  override get message(): string {
    return "The stack is not running; start it with `portolan stack up`"
  }
}
