import { Data } from "effect"
import { type Issue, issuesSentence } from "../issue.ts"
import type { StoreUnavailable } from "../store_unavailable.ts"

/** The submitted fields break the collection's rules. */
export class InvalidRecord extends Data.TaggedError("InvalidRecord")<{
  readonly collection: string
  readonly issues: ReadonlyArray<Issue>
}> {
  readonly code = "INVALID_RECORD"
  override get message(): string {
    return `Record for '${this.collection}' breaks ${this.issues.length} rule(s): ${issuesSentence(this.issues)}`
  }
}

/** `start` or `limit` is not a whole number in range. */
export class InvalidPage extends Data.TaggedError("InvalidPage")<{
  readonly parameter: "start" | "limit"
  readonly rule: string
}> {
  readonly code = "INVALID_PAGE"
  override get message(): string {
    return `Page parameter '${this.parameter}' must be ${this.rule}`
  }
}

/** No record has this id (seed section 7). */
export class RecordNotFound extends Data.TaggedError("RecordNotFound")<{ readonly collection: string }> {
  readonly code = "RECORD_NOT_FOUND"
  override get message(): string {
    return `No such record in '${this.collection}'`
  }
}

/** Everything the use cases of records can fail with. */
export type RecordsError = InvalidRecord | InvalidPage | RecordNotFound | StoreUnavailable
