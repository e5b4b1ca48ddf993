import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { Effect } from "effect"
import type { JWK } from "jose"
import { readStackOptions } from "../../domain/gateway/stack_options.ts"
import { issuesSentence } from "../../domain/issue.ts"
import { isObject } from "../../domain/json_object.ts"
import { askControl } from "../control.ts"
import { StackNotRunning, StackRefused } from "../errors.ts"
import { issuerOf, REALM } from "../realm.ts"
import { readState, type StackState } from "../state.ts"
import { type TokenSource, tokenSourceOf } from "../token.ts"
import { COUNT_WORD } from "../upstream/echo_server.ts"
import { mappedGateway, readRouteMap, stackGateway } from "./checked_gateway.ts"
import type { GivenTokens, TokenSupply } from "./gather_tokens.ts"
import type { TlsTrust } from "./raw_http.ts"
import type { CheckTarget } from "./run_check.ts"
import type { UpstreamWatch } from "./upstream_watch.ts"

/** What a person wrote after `stack check`; nothing means the running stack. */
export interface CheckWords {
  readonly proxyUrl?: string | undefined
  /** JSON file that names routes by role. */
  readonly routes?: string | undefined
  /** Routes by role that were given one by one; they win over the file's. */
  readonly mapped?: Readonly<Record<string, string>>
  readonly idpUrl?: string | undefined
  readonly realm?: string | undefined
  readonly gateway?: string | undefined
  readonly variant?: string | undefined
  readonly jwtRoles?: string | undefined
  /** JSON file with what good tokens need; secrets never stand on a command line. */
  readonly secrets?: string | undefined
  /** Command for a shell that prints a good token. */
  readonly tokenCommand?: string | undefined
  /** File that holds a good token. */
  readonly tokenFile?: string | undefined
  /** Origin of the upstream, when that counts. */
  readonly upstream?: string | undefined
  readonly marker?: string | undefined
  /** PEM file of the authority that signed the gateway's certificate. */
  readonly ca?: string | undefined
  readonly insecure?: boolean
}

/** The running stack as something to check: everything about it is known, so every row can be asked. */
export const stackTarget = (state: StackState): CheckTarget => ({
  proxyUrl: state.urls.proxy,
  gateway: stackGateway(state.options.gateway, state.options.variant, state.options.jwtRoles),
  tokens: tokenSourceOf(state),
  otherTokens: tokenSourceOf(state, REALM.otherName),
  signingKey: state.secrets.signingKey as JWK,
  watch: { hits: hitsAt(state.urls.upstream, state.secrets.control) },
})

const hitsAt = (url: string, word: string) => async (): Promise<number | undefined> => {
  const report = await askControl(url, word)
  return typeof report === "string" ? undefined : report.hits
}

const refuse = (reason: string) => new StackRefused({ reasons: [reason] })

const readText = (path: string, option: string): Effect.Effect<string, StackRefused> =>
  Effect.try({
    try: () => readFileSync(path, "utf8"),
    catch: () => refuse(`${option} names no file that can be read`),
  })

const parseJson = (text: string, option: string): Effect.Effect<unknown, StackRefused> =>
  Effect.try({ try: (): unknown => JSON.parse(text), catch: () => refuse(`${option} names a file that is no JSON`) })

const readMap = Effect.fnUntraced(function* ({ routes, mapped = {} }: CheckWords) {
  const written = routes === undefined ? {} : yield* parseJson(yield* readText(routes, "--routes"), "--routes")
  if (!isObject(written)) return yield* refuse("--routes must hold one JSON object")
  if (routes === undefined && Object.keys(mapped).length === 0) return undefined
  const read = readRouteMap({ ...written, ...mapped })
  return "issues" in read ? yield* refuse(`the routes: ${issuesSentence(read.issues)}`) : read.map
})

const SECRET_FIELDS = ["webClient", "webSecret", "userName", "userPassword", "serviceClient", "serviceSecret"] as const

type SecretsFile = Readonly<Record<(typeof SECRET_FIELDS)[number], string>> & { readonly signingKey?: JWK }

const readSecrets = Effect.fnUntraced(function* (path: string) {
  const secrets = yield* parseJson(yield* readText(path, "--secrets"), "--secrets")
  if (!isObject(secrets) || SECRET_FIELDS.some((name) => typeof secrets[name] !== "string"))
    return yield* refuse(
      `the secrets file must hold ${SECRET_FIELDS.join(", ")} as text, and may hold signingKey as a JWK`,
    )
  return secrets as unknown as SecretsFile
})

/** Milliseconds a token command may take. */
const TOKEN_COMMAND_MS = 30_000

/** What the command prints. Neither its output nor its complaints are ever shown: they may hold secrets. */
const outputOf = (command: string): Effect.Effect<string, StackRefused> =>
  Effect.callback((resume) => {
    execFile("/bin/sh", ["-c", command], { timeout: TOKEN_COMMAND_MS, encoding: "utf8" }, (failure, stdout) => {
      if (failure === null) return resume(Effect.succeed(stdout))
      const how = failure.killed ? `took over ${TOKEN_COMMAND_MS / 1000} s` : `ended with code ${failure.code}`
      resume(Effect.fail(refuse(`--token-command ${how}`)))
    })
  })

/** A token endpoint's whole answer, or an access token alone. */
const tokensIn = (text: string, option: string): Effect.Effect<GivenTokens, StackRefused> => {
  const written = text.trim()
  if (/^[\w.~+/=-]+$/.test(written)) return Effect.succeed({ access: written })
  const answer = parseJson(written, option).pipe(Effect.orElseSucceed(() => undefined))
  return Effect.flatMap(answer, (value) => {
    const { access_token: access, id_token: id, refresh_token: refresh } = isObject(value) ? value : {}
    if (typeof access !== "string" && typeof id !== "string")
      return Effect.fail(refuse(`${option} gives neither a token nor JSON with access_token or id_token`))
    return Effect.succeed({
      ...(typeof access === "string" ? { access } : {}),
      ...(typeof id === "string" ? { id } : {}),
      ...(typeof refresh === "string" ? { refresh } : {}),
    })
  })
}

const supplyOf = Effect.fnUntraced(function* (words: CheckWords) {
  const { idpUrl, secrets: path, tokenCommand, tokenFile } = words
  if ((idpUrl === undefined) !== (path === undefined))
    return yield* refuse("--idp-url and --secrets belong together: tokens need both")
  const sources = [idpUrl, tokenCommand, tokenFile].filter((source) => source !== undefined)
  if (sources.length > 1) return yield* refuse("--idp-url, --token-command and --token-file exclude one another")
  if (tokenCommand !== undefined)
    return { tokens: yield* tokensIn(yield* outputOf(tokenCommand), "--token-command") } satisfies TokenSupply
  if (tokenFile !== undefined)
    return {
      tokens: yield* tokensIn(yield* readText(tokenFile, "--token-file"), "--token-file"),
    } satisfies TokenSupply
  if (idpUrl === undefined || path === undefined) return {}
  const { signingKey, ...credentials } = yield* readSecrets(path)
  const issuer = issuerOf(idpUrl.replace(/\/$/, ""), words.realm ?? REALM.name)
  const tokens: TokenSource = { ...credentials, issuer }
  return { tokens, ...(signingKey === undefined ? {} : { signingKey }) } satisfies TokenSupply
})

const isOrigin = (text: string): boolean => /^https?:\/\/[^/?#@]+\/?$/.test(text) && URL.canParse(text)

const watchOf = Effect.fnUntraced(function* ({ upstream, marker }: CheckWords) {
  if (upstream === undefined) return (marker === undefined ? {} : { marker }) satisfies UpstreamWatch
  if (!isOrigin(upstream)) return yield* refuse("--upstream must be an origin such as http://localhost:8900")
  const report = yield* Effect.promise(() => askControl(upstream, COUNT_WORD))
  if (typeof report === "string") return yield* refuse(`--upstream: ${new URL(upstream).origin}: ${report}`)
  return { hits: hitsAt(upstream, COUNT_WORD), ...(marker === undefined ? {} : { marker }) } satisfies UpstreamWatch
})

/** Any gateway, by its address. */
const foreignTarget = Effect.fnUntraced(function* (words: CheckWords, proxyUrl: string) {
  const { gateway, variant, jwtRoles } = words
  const options = readStackOptions({ gateway, variant, jwtRoles })
  if ("mistakes" in options) return yield* new StackRefused({ reasons: options.mistakes })
  if (!isOrigin(proxyUrl)) return yield* refuse("--proxy-url must be an origin such as http://localhost:8000")
  const map = yield* readMap(words)
  const trust: TlsTrust = {
    ...(words.ca === undefined ? {} : { ca: yield* readText(words.ca, "--ca") }),
    ...(words.insecure === true ? { insecure: true } : {}),
  }
  const target: CheckTarget = {
    proxyUrl: new URL(proxyUrl).origin,
    gateway:
      map === undefined
        ? stackGateway(options.gateway, options.variant, options.jwtRoles)
        : mappedGateway(map, options.jwtRoles),
    trust,
    watch: yield* watchOf(words),
    ...(yield* supplyOf(words)),
  }
  return target
})

/**
 * Finds out what to check.
 *
 * @fails {StackRefused} on words that make no sense
 * @fails {StackNotRunning} when no address is given and no stack runs
 */
export const checkTarget = Effect.fnUntraced(function* (home: string, words: CheckWords) {
  if (words.proxyUrl !== undefined) return yield* foreignTarget(words, words.proxyUrl)
  const { mapped = {}, insecure = false, ...others } = words
  const isGiven = Object.keys(mapped).length > 0 || insecure || Object.values(others).some((each) => each !== undefined)
  if (isGiven) return yield* refuse("the other options need --proxy-url")
  const state = readState(home)
  return state === undefined ? yield* new StackNotRunning() : stackTarget(state)
})
