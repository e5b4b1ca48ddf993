import { Context, Data, type Effect, type Stream } from "effect"
import { type Issue, issuesSentence } from "../issue.ts"

/** A record of a service, as its JSON says. */
export type RemoteRecord = Readonly<Record<string, unknown>>

/** The service refused a request. */
export class RecordsRefused extends Data.TaggedError("RecordsRefused")<{
  readonly status: number
  /** The service's own code for it, such as `INVALID_RECORD`. */
  readonly code: string
  readonly detail: string
  readonly issues: ReadonlyArray<Issue>
}> {
  override get message(): string {
    const { status, detail, issues } = this
    return issues.length === 0 ? `${detail} (${status})` : `${detail} (${status}): ${issuesSentence(issues)}`
  }
}

/** The service cannot be reached, or its answer did not come to its end. */
export class RecordsUnreachable extends Data.TaggedError("RecordsUnreachable")<{ readonly reason: string }> {
  readonly code = "SERVICE_UNREACHABLE"
  override get message(): string {
    return `The service gave no whole answer: ${this.reason}`
  }
}

/** What asking a service about its records can fail with. */
export type RemoteError = RecordsRefused | RecordsUnreachable

/** True for a failure after which the same request may succeed: the service is busy, stopping, or away for a moment. */
export const isPassingRemote = (error: RemoteError): boolean =>
  error._tag === "RecordsUnreachable" || error.code === "KEY_IN_USE" || [408, 429, 502, 503, 504].includes(error.status)

/** What an import of one batch gave. */
export interface ImportedBatch {
  readonly created: number
  readonly firstId: number
  readonly lastId: number
}

/** Driven port: the records of a running service, over whatever leads to it. */
export class RemoteRecords extends Context.Service<
  RemoteRecords,
  {
    readonly list: (
      collection: string,
      page: { readonly start?: number | undefined; readonly limit?: number | undefined },
    ) => Effect.Effect<ReadonlyArray<RemoteRecord>, RemoteError>
    readonly count: (collection: string) => Effect.Effect<number, RemoteError>
    readonly get: (collection: string, id: string) => Effect.Effect<RemoteRecord, RemoteError>
    /** @param body a record, or an array of them, as JSON text */
    readonly create: (collection: string, body: string, key?: string) => Effect.Effect<unknown, RemoteError>
    readonly remove: (collection: string, id: string) => Effect.Effect<RemoteRecord, RemoteError>
    /**
     * Creates the records of some lines, all or none.
     *
     * @param lines 1 to 1000 lines of JSON, at most 1 MiB of UTF-8
     * @param key makes a repeated call create nothing again
     */
    readonly importBatch: (collection: string, lines: string, key: string) => Effect.Effect<ImportedBatch, RemoteError>
    /** Every record with an id above `after` as one line of JSON, in the order of the ids; fails when it is not whole. */
    readonly export: (collection: string, after: number) => Stream.Stream<string, RemoteError>
  }
>()("portolan/domain/records/RemoteRecords") {}
