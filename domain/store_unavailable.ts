import { Data } from "effect"

/**
 * The store cannot answer now. Names user, host and database, never the password (seed section 7).
 * `reason` is the driver's own text: for the log, never for a client.
 */
export class StoreUnavailable extends Data.TaggedError("StoreUnavailable")<{
  readonly store: { readonly user: string; readonly host: string; readonly database: string }
  readonly reason: string
}> {
  readonly code = "STORE_UNAVAILABLE"
  override get message(): string {
    const { user, host, database } = this.store
    return `Cannot reach the store as user '${user}' at '${host}', database '${database}': ${this.reason}`
  }
}
