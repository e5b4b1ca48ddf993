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

/** A browser that is logged in. The browser itself holds nothing but the session's id. */
export interface Session {
  readonly claims: TokenObject
  /** The ID token itself, as the hint the provider asks for at logout. */
  readonly idToken: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/**
 * Driven port: logins under way, and sessions. They are kept by the gateway, so that a logout ends a stolen cookie as well.
 *
 * Ids and states are secrets of `LoginSecrets`; times are seconds since the epoch.
 */
export class BrowserSessions extends Context.Service<
  BrowserSessions,
  {
    /** Keeps a login until {@link PendingLogin.expiresAt}. */
    readonly begin: (state: string, login: PendingLogin) => Effect.Effect<void>
    /** Takes away the login of a state if this browser began it, so that each state works once; `undefined` otherwise. */
    readonly finish: (state: string, browser: string, nowS: number) => Effect.Effect<PendingLogin | undefined>
    /** Keeps a session until {@link Session.expiresAt}. */
    readonly open: (id: string, session: Session) => Effect.Effect<void>
    /** The session of an id, unless it has expired or was closed. */
    readonly find: (id: string, nowS: number) => Effect.Effect<Session | undefined>
    /** Ends a session; nothing happens when there is none. */
    readonly close: (id: string) => Effect.Effect<void>
  }
>()("portolan/domain/gateway/BrowserSessions") {}
