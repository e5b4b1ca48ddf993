import { Effect } from "effect"
import { StackFailed, StackNotRunning } from "./errors.ts"
import { ENDPOINTS, issuerOf, REALM } from "./realm.ts"
import { readState, type StackState } from "./state.ts"

/** Kinds of token that `stack token` shows. */
export const TOKEN_KINDS = ["access", "id"] as const
/** One kind of token. */
export type ShownKind = (typeof TOKEN_KINDS)[number]

/** Time the token endpoint may take, milliseconds. */
const TIMEOUT_MS = 5000

/** Where and as whom tokens are asked for. */
export interface TokenSource {
  /** Base address of the realm. */
  readonly issuer: string
  readonly webClient: string
  readonly webSecret: string
  readonly userName: string
  readonly userPassword: string
  readonly serviceClient: string
  readonly serviceSecret: string
}

/** The token source of a running stack. */
export const tokenSourceOf = ({ urls, secrets }: StackState, realm: string = REALM.name): TokenSource => ({
  issuer: issuerOf(urls.idp, realm),
  webClient: REALM.webClient,
  webSecret: secrets.webClient,
  userName: REALM.user.name,
  userPassword: secrets.userPassword,
  serviceClient: REALM.serviceClient,
  serviceSecret: secrets.serviceClient,
})

/** What a token endpoint hands out. */
export interface Tokens {
  readonly access: string
  readonly id?: string
  readonly refresh?: string
}

const ask = async (issuer: string, form: Readonly<Record<string, string>>): Promise<Tokens> => {
  const response = await fetch(`${issuer}${ENDPOINTS.token}`, {
    method: "POST",
    body: new URLSearchParams(form),
    redirect: "manual",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const answer = (await response.json()) as Readonly<Record<string, unknown>>
  const { access_token: access, id_token: id, refresh_token: refresh } = answer
  if (response.status !== 200 || typeof access !== "string")
    throw new Error(`the token endpoint answered ${response.status}`)
  return {
    access,
    ...(typeof id === "string" ? { id } : {}),
    ...(typeof refresh === "string" ? { refresh } : {}),
  }
}

/** Tokens of the test user (password grant). */
export const userTokens = ({ issuer, webClient, webSecret, userName, userPassword }: TokenSource): Promise<Tokens> =>
  ask(issuer, {
    grant_type: "password",
    client_id: webClient,
    client_secret: webSecret,
    username: userName,
    password: userPassword,
    scope: "openid profile email",
  })

/** An access token of the service client (client credentials grant, specification 4.2). */
export const serviceToken = async ({ issuer, serviceClient, serviceSecret }: TokenSource): Promise<string> =>
  (await ask(issuer, { grant_type: "client_credentials", client_id: serviceClient, client_secret: serviceSecret }))
    .access

/**
 * A fresh token of the test user.
 *
 * @fails {StackNotRunning} when there is no stack
 * @fails {StackFailed} when its identity provider gives none
 */
export const token = Effect.fn("stack.token")(function* (home: string, kind: ShownKind) {
  const state = readState(home)
  if (state === undefined) return yield* new StackNotRunning()
  const tokens = yield* Effect.tryPromise({
    try: () => userTokens(tokenSourceOf(state)),
    catch: (failure) =>
      new StackFailed({ part: "idp", reason: failure instanceof Error ? failure.message : "no answer", log: [] }),
  })
  const wanted = tokens[kind]
  return wanted ?? (yield* new StackFailed({ part: "idp", reason: `it gave no ${kind} token`, log: [] }))
})
