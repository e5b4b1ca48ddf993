// The token table has one row per way of presenting a token. Two runners share it: one calls the use cases, one talks HTTP.
import { bareOf, KEYS, type Part, signToken, type TokenKit } from "../tokens.ts"

/** What a caller sends, as far as it can carry a token. */
export interface Presented {
  /** One `Authorization` header each. */
  readonly authorization: ReadonlyArray<string>
  /** Record to ask for; the list when absent. */
  readonly id?: number
  /** Query without `?`. */
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent with POST. */
  readonly body?: string
}

/** How the verifier is set up. */
export interface Setup {
  readonly keys?: string
  readonly issuer?: string | undefined
  readonly audience?: string
  readonly authorizedParties?: ReadonlyArray<string>
  readonly requireTyp?: boolean
}

export interface TokenCase {
  /** Number of the case in the token check list. */
  readonly id: string
  readonly title: string
  readonly expect: 200 | 401 | 403
  /** Statuses an HTTP server may answer before anybody sees the token. */
  readonly wire?: ReadonlyArray<number>
  /** Differences from {@link DEFAULT_SETUP}. */
  readonly setup?: Setup
  /** A key set the realm publishes, instead of a fixed key. */
  readonly published?: () => Readonly<Record<string, unknown>>
  /** Roles the route asks for; none when absent. */
  readonly roles?: ReadonlyArray<string>
  /** @param trap address of a listener that nobody may call */
  readonly make: (kit: TokenKit, trap: string) => Presented
}

export const defaultSetup = (kit: TokenKit): Setup => ({ keys: bareOf(KEYS.realm().publicKey), issuer: kit.issuer })

export const bearer = (token: string): Presented => ({ authorization: [`Bearer ${token}`] })

/** A setup with these keys, which are made when they are asked for: making a pair takes up to a second. */
export const lazyKeys = (make: () => string) => ({
  get setup() {
    return { keys: make() }
  },
})

type Options = Pick<TokenCase, "wire" | "setup" | "published" | "roles">

const row =
  (expect: TokenCase["expect"]) =>
  (
    id: string,
    title: string,
    make: (kit: TokenKit, trap: string) => string | Presented,
    options: Options = {},
  ): TokenCase => ({
    id,
    title,
    expect,
    ...options,
    make: (kit, trap) => {
      const made = make(kit, trap)
      return typeof made === "string" ? bearer(made) : made
    },
  })

/** Rows whose token must be accepted, refused, or found without the role; `make` gives a token or the whole request. */
export const accepted = row(200)
export const refused = row(401)
export const forbidden = row(403)

/** Claims of a good access token with some replaced; `undefined` removes one. */
export const withClaims = (more: Readonly<Record<string, unknown>>) => (kit: TokenKit) => kit.access(more)

/** A good access token with header parameters replaced. */
export const withHeader = (more: Readonly<Record<string, unknown>>) => (kit: TokenKit) => kit.access({}, more)

/** A good access token whose claims are written by hand. */
export const withPayload = (change: (json: string, kit: TokenKit) => Part) => (kit: TokenKit) =>
  signToken(kit.header, change(JSON.stringify(kit.claims), kit))
