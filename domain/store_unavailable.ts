import { Data } from "effect"

/**
 * The store cannot be used now: it is away, takes no write, or is not the one that it was. Names user, host and database, never
 * the password (specification 7). `reason` is for the log, never for a client: it may be the driver's own text.
 */
export class StoreUnavailable extends Data.TaggedError("StoreUnavailable")<{
  readonly store: { readonly user: string; readonly host: string; readonly database: string }
  readonly reason: string
}> {
  readonly code = "STORE_UNAVAILABLE"
  override get message(): string {
    const { user, host, database } = this.store
    return `Cannot use the store as user '${user}' at '${host}', database '${database}': ${this.reason}`
  }
}
