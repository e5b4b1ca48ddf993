import { readFileSync } from "node:fs"
import { Effect } from "effect"
import type { JWK } from "jose"
import { readStackOptions } from "../../domain/gateway/stack_options.ts"
import { askControl } from "../control.ts"
import { StackNotRunning, StackRefused } from "../errors.ts"
import { issuerOf, REALM } from "../realm.ts"
import { readState, type StackState } from "../state.ts"
import { type TokenSource, tokenSourceOf } from "../token.ts"
import type { CheckTarget } from "./run_check.ts"

/** What a person wrote after `stack check`; nothing means the running stack. */
export interface CheckWords {
  readonly proxyUrl?: string | undefined
  readonly idpUrl?: string | undefined
  readonly realm?: string | undefined
  readonly gateway?: string | undefined
  readonly variant?: string | undefined
  readonly jwtRoles?: string | undefined
  /** JSON file with what good tokens need; secrets never stand on a command line. */
  readonly secrets?: string | undefined
}

/** The running stack as something to check: everything about it is known, so every row can be asked. */
export const stackTarget = (state: StackState): CheckTarget => ({
  proxyUrl: state.urls.proxy,
  line: state.options.gateway,
  variant: state.options.variant,
  jwtRoles: state.options.jwtRoles,
  tokens: tokenSourceOf(state),
  otherTokens: tokenSourceOf(state, REALM.otherName),
  signingKey: state.secrets.signingKey as JWK,
  hits: async () => {
    const report = await askControl(state.urls.upstream, state.secrets.control)
    return typeof report === "string" ? undefined : report.hits
  },
})

const refuse = (reason: string) => new StackRefused({ reasons: [reason] })

const SECRET_FIELDS = ["webClient", "webSecret", "userName", "userPassword", "serviceClient", "serviceSecret"] as const

type SecretsFile = Readonly<Record<(typeof SECRET_FIELDS)[number], string>> & { readonly signingKey?: JWK }

const readSecrets = (path: string): Effect.Effect<SecretsFile, StackRefused> =>
  Effect.try({
    try: () => JSON.parse(readFileSync(path, "utf8")) as SecretsFile,
    catch: () => refuse(`--secrets names no JSON file that can be read`),
  }).pipe(
    Effect.filterOrFail(
      (secrets) => SECRET_FIELDS.every((name) => typeof secrets[name] === "string"),
      () => refuse(`the secrets file must hold ${SECRET_FIELDS.join(", ")} as text, and may hold signingKey as a JWK`),
    ),
  )

const isOrigin = (text: string): boolean => /^https?:\/\/[^/?#@]+\/?$/.test(text) && URL.canParse(text)

/** Any gateway, by its address. */
const foreignTarget = Effect.fnUntraced(function* (words: CheckWords, proxyUrl: string) {
  const { gateway, variant, jwtRoles, idpUrl, secrets: path } = words
  const options = readStackOptions({ gateway, variant, jwtRoles })
  if ("mistakes" in options) return yield* new StackRefused({ reasons: options.mistakes })
  if (!isOrigin(proxyUrl)) return yield* refuse("--proxy-url must be an origin such as http://localhost:8000")
  if ((idpUrl === undefined) !== (path === undefined))
    return yield* refuse("--idp-url and --secrets belong together: tokens need both")
  const target: CheckTarget = {
    proxyUrl,
    line: options.gateway,
    variant: options.variant,
    jwtRoles: options.jwtRoles,
    hits: () => Promise.resolve(undefined),
  }
  if (idpUrl === undefined || path === undefined) return target
  const { signingKey, ...credentials } = yield* readSecrets(path)
  const tokens: TokenSource = {
    ...credentials,
    issuer: issuerOf(idpUrl.replace(/\/$/, ""), words.realm ?? REALM.name),
  }
  return { ...target, tokens, ...(signingKey === undefined ? {} : { signingKey }) }
})

/**
 * Finds out what to check.
 *
 * @fails {StackRefused} on words that make no sense
 * @fails {StackNotRunning} when no address is given and no stack runs
 */
export const checkTarget = Effect.fnUntraced(function* (home: string, words: CheckWords) {
  if (words.proxyUrl !== undefined) return yield* foreignTarget(words, words.proxyUrl)
  const given = Object.entries(words).find(([, value]) => value !== undefined)
  if (given !== undefined) return yield* refuse("the other options need --proxy-url")
  const state = readState(home)
  return state === undefined ? yield* new StackNotRunning() : stackTarget(state)
})
