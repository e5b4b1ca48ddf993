import { createPrivateKey, type KeyObject } from "node:crypto"
import { Data } from "effect"
import type { JWK } from "jose"
import { isObject } from "../../domain/json_object.ts"
import { connectionFailure } from "../connection_failure.ts"
import { ENDPOINTS } from "../realm.ts"
import { serviceToken, type TokenSource, userTokens } from "../token.ts"
import { type Credentials, makeCredentials, readParts, type TokenBase } from "./credentials.ts"

/** Good tokens that somebody else has fetched. */
export interface GivenTokens {
  readonly access?: string
  readonly id?: string
  readonly refresh?: string
}

/** Where good tokens come from. */
export interface TokenSupply {
  /** The realm that gives tokens, or tokens that are there already; without either only rows without a token are asked. */
  readonly tokens?: TokenSource | GivenTokens
  /** Another realm of the same provider. */
  readonly otherTokens?: TokenSource
  /** The realm's private signing key; without it rows that need a well-signed wrong token are not asked. */
  readonly signingKey?: JWK
}

/** The identity provider gives no tokens, so nothing was asked. */
export class NoTokens extends Data.TaggedError("NoTokens")<{ readonly url: string; readonly reason: string }> {
  readonly code = "NO_TOKENS"
  readonly exitCode = 2
  override get message(): string {
    return `no tokens from ${this.url}: ${this.reason}`
  }
}

const TIMEOUT_MS = 5000

const from = <A>(url: string, asked: Promise<A>): Promise<A> =>
  asked.catch((failure: unknown) => Promise.reject(new NoTokens({ url, reason: connectionFailure(failure) })))

const getJson = async (url: string): Promise<unknown> => {
  const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) })
  if (!response.ok) throw new Error(`it answered ${response.status}`)
  return response.json()
}

const rsaKeys = (published: unknown): ReadonlyArray<JWK> =>
  isObject(published) && Array.isArray(published["keys"])
    ? (published["keys"] as ReadonlyArray<JWK>).filter((key) => key.kty === "RSA" && key.use !== "enc")
    : []

/** The published keys of an issuer that is known from a token alone. */
const discoverKeys = async (issuer: string): Promise<ReadonlyArray<JWK>> => {
  const found = await getJson(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`)
  const address = isObject(found) ? found["jwks_uri"] : undefined
  return typeof address === "string" ? rsaKeys(await getJson(address)) : []
}

interface Attacker {
  readonly hostileUrl: string
  readonly hostileKey: KeyObject
}

const fromRealm = async (source: TokenSource, otherTokens: TokenSource | undefined) => {
  const { issuer } = source
  const [endpoint, keys] = [`${issuer}${ENDPOINTS.token}`, `${issuer}${ENDPOINTS.keys}`]
  return {
    issuer,
    ...(await from(endpoint, userTokens(source))),
    service: await from(endpoint, serviceToken(source)),
    publicKeys: rsaKeys(await from(keys, getJson(keys))),
    // A realm of which there is none leaves one row out.
    otherRealm: otherTokens === undefined ? undefined : await serviceToken(otherTokens).catch(() => undefined),
  }
}

const fromGiven = async (given: GivenTokens) => {
  const issuer = readParts(given.access ?? given.id ?? "")?.payload["iss"]
  const isAddress = typeof issuer === "string" && /^https?:\/\//.test(issuer)
  return {
    issuer: typeof issuer === "string" ? issuer : "",
    ...given,
    // The keys are needed for one row, which is not asked without them.
    publicKeys: isAddress ? await discoverKeys(issuer).catch(() => []) : [],
  }
}

const defined = <A extends object>(given: A) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [name in keyof A]: Exclude<A[name], undefined>
  }

/**
 * Fetches the good tokens and makes every broken one.
 *
 * @throws {NoTokens} when the realm gives none
 */
export const gatherTokens = async (
  { otherTokens, signingKey }: TokenSupply,
  tokens: TokenSource | GivenTokens,
  attacker: Attacker,
): Promise<Readonly<Record<TokenBase, Credentials>>> => {
  const found = "userName" in tokens ? await fromRealm(tokens, otherTokens) : await fromGiven(tokens)
  const key = signingKey === undefined ? undefined : createPrivateKey({ key: { ...signingKey }, format: "jwk" })
  return makeCredentials({ ...defined(found), ...attacker, ...(key === undefined ? {} : { signingKey: key }) })
}
