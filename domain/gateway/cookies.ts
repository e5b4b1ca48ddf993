/** Cookies of the browser login. Both hold one random word and nothing else. */
export interface CookieNames {
  readonly session: string
  /** Ties a login under way to the browser that began it. */
  readonly login: string
}

const isSecure = (publicUrl: string): boolean => publicUrl.startsWith("https:")

/** Names of the cookies; with https the `__Host-` prefix keeps other hosts from planting them. */
export const cookieNames = (publicUrl: string): CookieNames => {
  const prefix = isSecure(publicUrl) ? "__Host-" : ""
  return { session: `${prefix}portolan_session`, login: `${prefix}portolan_login` }
}

/**
 * A `Set-Cookie` value.
 *
 * @param maxAgeS seconds the browser keeps it; 0 removes it
 */
export const setCookie = (publicUrl: string, name: string, value: string, maxAgeS: number): string =>
  `${name}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${isSecure(publicUrl) ? "; Secure" : ""}`
