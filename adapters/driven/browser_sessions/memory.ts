import { Effect, Layer } from "effect"
import { LRUCache } from "lru-cache"
import { BrowserSessions, type PendingLogin, type Session } from "../../../domain/gateway/browser_sessions.ts"

/** Entries kept of each kind; the one unused for longest goes first. 10,000 sessions of 4 kB are about 40 MB. */
const KEPT_MAX = 10_000

/** Keeps logins and sessions in this process. They end with it, and browsers then log in again. */
export const layer: Layer.Layer<BrowserSessions> = Layer.sync(BrowserSessions, () => {
  const logins = new LRUCache<string, PendingLogin>({ max: KEPT_MAX })
  const sessions = new LRUCache<string, Session>({ max: KEPT_MAX })
  return BrowserSessions.of({
    begin: (state, login) => Effect.sync(() => void logins.set(state, login)),
    finish: (state, browser, nowS) =>
      Effect.sync(() => {
        const login = logins.get(state)
        if (login === undefined || login.browser !== browser) return undefined
        logins.delete(state)
        return nowS < login.expiresAt ? login : undefined
      }),
    open: (id, session) => Effect.sync(() => void sessions.set(id, session)),
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
