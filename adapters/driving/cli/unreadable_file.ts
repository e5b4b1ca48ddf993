import { Data } from "effect"

/** A file that is not what its command reads. */
export class UnreadableFile extends Data.TaggedError("UnreadableFile")<{
  readonly path: string
  readonly rule: string
}> {
  readonly code = "UNREADABLE_FILE"
  override get message(): string {
    return `${this.path} ${this.rule}`
  }
}
