import { Data } from "effect"
import { type Issue, issuesSentence } from "../issue.ts"
import type { StoreUnavailable } from "../store_unavailable.ts"
import { isNameable } from "./json_hygiene.ts"
import { isPlainName } from "./query_field.ts"

/** A pointer into a definition as words: `/fields/properties/depth/minimum` is the `minimum` of the field 'depth'. */
const placeOf = (collection: string, pointer: string): string => {
  const steps = pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
  const inField = steps[0] === "fields" && steps[1] === "properties" && steps.length > 2
  const rest = steps.slice(inField ? 3 : 0).join(".")
  const place = `collection '${collection}'${inField ? `, field '${steps[2]}'` : ""}`
  return rest === "" ? place : `${place}: ${rest}`
}

/** A definition that can never work, or that could block the service; found when it is made, never at a request. */
export class InvalidCollectionSetup extends Data.TaggedError("InvalidCollectionSetup")<{
  /** The collection's name as far as it has one. */
  readonly collection: string
  /** Every broken rule; a pointer leads into the definition. */
  readonly issues: ReadonlyArray<Issue>
}> {
  readonly code = "INVALID_COLLECTION_SETUP"
  /** One sentence for each broken rule, naming collection, field and rule. */
  get sentences(): ReadonlyArray<string> {
    return this.issues.map(({ pointer, message }) => `${placeOf(this.collection, pointer)} ${message}`)
  }
  override get message(): string {
    return this.sentences.join("\n")
  }
}

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

/** A list is asked for by what it cannot be filtered, sorted or continued by. */
export class InvalidQuery extends Data.TaggedError("InvalidQuery")<{
  /** The parameter, or the field, as the caller wrote it. */
  readonly parameter: string
  /** The rule, as the end of a sentence that begins with the parameter. */
  readonly rule: string
}> {
  readonly code = "INVALID_QUERY"
  override get message(): string {
    // The name of an unknown parameter is a stranger's text.
    const name =
      isPlainName(this.parameter) || isNameable(this.parameter)
        ? `Query parameter '${this.parameter}'`
        : "A query parameter"
    return `${name} ${this.rule}`
  }
}

/** No record has this id (specification 7). */
export class RecordNotFound extends Data.TaggedError("RecordNotFound")<{ readonly collection: string }> {
  readonly code = "RECORD_NOT_FOUND"
  override get message(): string {
    return `No such record in '${this.collection}'`
  }
}

/** The record is no longer what the caller took it for: another write came first. */
export class RecordChanged extends Data.TaggedError("RecordChanged")<{ readonly collection: string }> {
  readonly code = "RECORD_CHANGED"
  override get message(): string {
    return `A record in '${this.collection}' has changed since it was read`
  }
}

/** Another record has this value of a unique field. */
export class NotUnique extends Data.TaggedError("NotUnique")<{
  readonly collection: string
  readonly field: string
  /** The record's place among those that were to be created together, from 0; absent when it was alone. */
  readonly at?: number
}> {
  readonly code = "NOT_UNIQUE"
  override get message(): string {
    return `Another record in '${this.collection}' has the same value of '${this.field}'`
  }
}

/** The key of a create was used before, for something else. */
export class KeyReused extends Data.TaggedError("KeyReused")<{ readonly collection: string }> {
  readonly code = "KEY_REUSED"
  override get message(): string {
    return `The key was used before for another create in '${this.collection}'`
  }
}

/** The create that this key was sent with before is still under way. */
export class KeyInUse extends Data.TaggedError("KeyInUse")<{ readonly collection: string }> {
  readonly code = "KEY_IN_USE"
  override get message(): string {
    return `A create with this key is still under way in '${this.collection}'`
  }
}

/** The log of changes does not hold what came after this position: it was too long ago, or the position is of another log. */
export class PositionGone extends Data.TaggedError("PositionGone")<{ readonly collection: string }> {
  readonly code = "POSITION_GONE"
  override get message(): string {
    return `The changes of '${this.collection}' after this position are not kept`
  }
}

/** The store keeps no log of changes for this collection. */
export class ChangesUnsupported extends Data.TaggedError("ChangesUnsupported")<{
  readonly collection: string
  readonly reason: string
}> {
  readonly code = "CHANGES_UNSUPPORTED"
  override get message(): string {
    return `The changes of '${this.collection}' cannot be followed: ${this.reason}`
  }
}

/** Everything the use cases of records can fail with. */
export type RecordsError =
  | InvalidRecord
  | InvalidPage
  | InvalidQuery
  | RecordNotFound
  | RecordChanged
  | NotUnique
  | KeyReused
  | KeyInUse
  | PositionGone
  | ChangesUnsupported
  | StoreUnavailable
