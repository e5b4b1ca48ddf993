import { Data } from "effect"
import { type Issue, issuesSentence } from "../issue.ts"
import type { GraphFailure } from "./graph_failure.ts"

/** One broken or doubtful rule of a media request. */
export interface MediaIssue extends Issue {
  /** Stable name of the rule, such as `url-scheme`. */
  readonly rule: string
}

/** The described container, carousel or call breaks rules; nothing was sent. */
export class InvalidMedia extends Data.TaggedError("InvalidMedia")<{ readonly issues: ReadonlyArray<MediaIssue> }> {
  readonly code = "INVALID_MEDIA"
  override get message(): string {
    return `Media request breaks ${this.issues.length} rule(s): ${issuesSentence(this.issues)}`
  }
}

/** The error for a request that breaks one rule. */
export const invalidMedia = (pointer: string, rule: string, message: string): InvalidMedia =>
  new InvalidMedia({ issues: [{ pointer, rule, message }] })

/** An option that can never work (address, version, token, account); found at setup, nothing was sent. */
export class InvalidMediaSetup extends Data.TaggedError("InvalidMediaSetup")<{
  readonly option: string
  readonly rule: string
}> {
  readonly code = "INVALID_MEDIA_SETUP"
  override get message(): string {
    return `Media option '${this.option}' ${this.rule}`
  }
}

/** The request's path and query would be longer than servers read; nothing was sent. */
export class RequestTargetTooLong extends Data.TaggedError("RequestTargetTooLong")<{
  readonly bytes: number
  readonly bytesMax: number
}> {
  readonly code = "REQUEST_TARGET_TOO_LONG"
  override get message(): string {
    return `The request target would be ${this.bytes} bytes long, safe are ${this.bytesMax}: shorten the caption, or send the parameters as a form`
  }
}

/** Some units of a carousel could not be created, so the carousel was not. The created ones can be used again. */
export class CarouselIncomplete extends Data.TaggedError("CarouselIncomplete")<{
  readonly created: ReadonlyArray<{ readonly index: number; readonly containerId: string }>
  readonly failed: ReadonlyArray<{ readonly index: number; readonly error: GraphFailure | RequestTargetTooLong }>
  /** Units never started, because an earlier failure would have met them too. */
  readonly skipped: ReadonlyArray<number>
}> {
  readonly code = "CAROUSEL_INCOMPLETE"
  override get message(): string {
    const failed = this.failed.map(({ index, error }) => `item ${index}: ${error.message}`).join("; ")
    return `${this.created.length} carousel item(s) created, ${this.failed.length} failed, ${this.skipped.length} not started: ${failed}`
  }
}

/** The publish call may or may not have made a post, and the graph does not tell. Nothing more is sent by itself. */
export class OutcomeUnknown extends Data.TaggedError("OutcomeUnknown")<{
  readonly containerId: string
  /** What the last look at the container said. */
  readonly seen: "unreadable" | "expired" | "error" | "in-progress" | "finished" | "unknown"
}> {
  readonly code = "OUTCOME_UNKNOWN"
  override get message(): string {
    return `Whether container ${this.containerId} was published is unknown (its state: ${this.seen}); look at the account before trying again`
  }
}

/** Another run holds this post now. */
export class PublishBusy extends Data.TaggedError("PublishBusy")<{
  readonly key: string
  /** Milliseconds until the other run's hold ends unless it goes on. */
  readonly retryAfterMs: number
}> {
  readonly code = "PUBLISH_BUSY"
  override get message(): string {
    return `Another run is publishing '${this.key}'`
  }
}

/** The account's publish quota is used up; the container stays usable while it lives. */
export class QuotaExhausted extends Data.TaggedError("QuotaExhausted")<{
  readonly used: number
  readonly total: number
  readonly retryAfterMs: number
}> {
  readonly code = "PUBLISH_QUOTA_EXHAUSTED"
  override get message(): string {
    return `The account published ${this.used} of ${this.total} posts of its quota`
  }
}

/** What a media use case may fail with, beside a store that is away. */
export type MediaError =
  | InvalidMedia
  | RequestTargetTooLong
  | CarouselIncomplete
  | OutcomeUnknown
  | PublishBusy
  | QuotaExhausted
  | GraphFailure
