import { Effect, Layer } from "effect"
import { BrowserSessions, type PendingLogin, type Session } from "../../../domain/gateway/browser_sessions.ts"

/** Logins under way, and sessions, kept at most; the oldest goes first. At 4 KB a session about 40 MB. */
const KEPT_MAX = 10_000

const add = <A>(entries: Map<string, A>, key: string, value: A): void => {
  entries.set(key, value)
  const oldest = entries.size > KEPT_MAX ? entries.keys().next().value : undefined
  if (oldest !== undefined) entries.delete(oldest)
}

/** Sessions of this process: they end with it, and a browser then logs in again. */
export const layer: Layer.Layer<BrowserSessions> = Layer.sync(BrowserSessions, () => {
  const logins = new Map<string, PendingLogin>()
  const sessions = new Map<string, Session>()
  return BrowserSessions.of({
    begin: (state, login) => Effect.sync(() => add(logins, state, login)),
    finish: (state, browser, nowS) =>
      Effect.sync(() => {
        const login = logins.get(state)
        if (login === undefined || login.browser !== browser) return undefined
        logins.delete(state)
        return nowS < login.expiresAt ? login : undefined
      }),
    open: (id, session) => Effect.sync(() => add(sessions, id, session)),
    find: (id, nowS) =>
      Effect.sync(() => {
        const session = sessions.get(id)
        if (session === undefined || nowS < session.expiresAt) return session
        sessions.delete(id)
        return undefined
      }),
    close: (id) => Effect.sync(() => void sessions.delete(id)),
  })
})
