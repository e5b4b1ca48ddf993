import { Context, type Effect } from "effect"
import type { TokenObject } from "../identity/token_kind.ts"

/** A login that was begun and has not come back. */
export interface PendingLogin {
  /** Secret in the cookie of the browser that began it; another browser cannot finish it. */
  readonly browser: string
  readonly nonce: string
  readonly verifier: string
  /** Path on this gateway the browser wanted; begins with one `/`. */
  readonly returnTo: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** A browser that is logged in. The browser holds its id alone. */
export interface Session {
  readonly claims: TokenObject
  /** The ID token itself, as the hint the provider asks for at logout. */
  readonly idToken: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** Driven port: logins under way and sessions, kept on this side, so that a stolen cookie dies at logout. */
export class BrowserSessions extends Context.Service<
  BrowserSessions,
  {
    readonly begin: (state: string, login: PendingLogin) => Effect.Effect<void>
    /** Takes a pending login away, if it is this browser's: each state works once. */
    readonly finish: (state: string, browser: string, nowS: number) => Effect.Effect<PendingLogin | undefined>
    readonly open: (id: string, session: Session) => Effect.Effect<void>
    readonly find: (id: string, nowS: number) => Effect.Effect<Session | undefined>
    readonly close: (id: string) => Effect.Effect<void>
  }
>()("portolan/domain/gateway/BrowserSessions") {}
