import { createPrivateKey, type KeyObject } from "node:crypto"
import { createServer } from "node:http"
import { Effect } from "effect"
import { exportJWK, type JWK } from "jose"
import { type Line, routesOf, type Variant } from "../../domain/gateway/route_profile.ts"
import { StackFailed } from "../errors.ts"
import { listen } from "../loopback.ts"
import { ENDPOINTS } from "../realm.ts"
import { serviceToken, type TokenSource, type Tokens, userTokens } from "../token.ts"
import { askCase, type CheckRow } from "./ask_case.ts"
import type { CheckCase } from "./check_case.ts"
import { makeCredentials, newHostileKey } from "./credentials.ts"
import { pathCases } from "./path_cases.ts"
import { protocolCases } from "./protocol_cases.ts"
import { tokenCases } from "./token_cases.ts"

/** A gateway to check. */
export interface CheckTarget {
  readonly proxyUrl: string
  readonly line: Line
  readonly variant: Variant
  readonly jwtRoles: ReadonlyArray<string>
  /** Where good tokens come from; without it only rows without a token are asked. */
  readonly tokens?: TokenSource
  /** Another realm of the same provider. */
  readonly otherTokens?: TokenSource
  /** The realm's private signing key; without it rows that need a well-signed wrong token are not asked. */
  readonly signingKey?: JWK
  /** Requests the upstream has answered. */
  readonly hits: () => Promise<number | undefined>
}

/** What a check found. */
export interface CheckResult {
  readonly target: { readonly proxyUrl: string; readonly line: Line; readonly variant: Variant }
  readonly rows: ReadonlyArray<CheckRow>
  readonly asExpected: number
  readonly different: number
  readonly notAsked: number
}

/** The server of an attacker: publishes the attacker's keys, and counts who fetches them. */
const hostileServer = async (key: KeyObject) => {
  let fetches = 0
  const jwk = await exportJWK(key)
  const keys = JSON.stringify({ keys: [{ kty: jwk.kty, n: jwk.n, e: jwk.e, kid: "evil", alg: "RS256", use: "sig" }] })
  const server = createServer((request, response) => {
    fetches++
    request.resume()
    response.setHeader("content-type", "application/json")
    const { port } = server.address() as { port: number }
    const at = `http://127.0.0.1:${port}`
    response.end(request.url?.includes("well-known") ? JSON.stringify({ issuer: at, jwks_uri: `${at}/keys` }) : keys)
  })
  await listen(server, 0)
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}`, fetches: () => fetches, close: () => void server.close() }
}

type Hostile = Awaited<ReturnType<typeof hostileServer>>

const unlessRefused = <A>(asked: Promise<A>): Promise<A | undefined> => asked.catch(() => undefined)

const credentialsFor = async (
  { tokens, otherTokens, signingKey }: CheckTarget,
  hostile: Hostile,
  hostileKey: KeyObject,
): Promise<Readonly<Record<string, string | undefined>>> => {
  if (tokens === undefined) return { garbage: "garbage", "three parts of nothing": "a.b.c" }
  const user: Tokens = await userTokens(tokens)
  const published = (await (await fetch(`${tokens.issuer}${ENDPOINTS.keys}`)).json()) as { keys?: ReadonlyArray<JWK> }
  const otherRealm = otherTokens === undefined ? undefined : await unlessRefused(serviceToken(otherTokens))
  return makeCredentials({
    issuer: tokens.issuer,
    access: user.access,
    id: user.id ?? "",
    service: await serviceToken(tokens),
    ...(otherRealm === undefined ? {} : { otherRealm }),
    ...(user.refresh === undefined ? {} : { refresh: user.refresh }),
    ...(signingKey === undefined ? {} : { signingKey: createPrivateKey({ key: { ...signingKey }, format: "jwk" }) }),
    publicKeys: (published.keys ?? []).filter((key) => key.kty === "RSA" && key.use !== "enc"),
    hostileUrl: hostile.url,
    hostileKey,
  })
}

/** Every case for a build of the gateway. */
export const checkCases = ({
  line,
  variant,
  jwtRoles,
}: Pick<CheckTarget, "line" | "variant" | "jwtRoles">): ReadonlyArray<CheckCase> => {
  const routes = routesOf(line, variant)
  return [...pathCases(routes), ...tokenCases(routes, jwtRoles), ...protocolCases(routes)]
}

const attackerRow = (fetches: number): CheckRow => ({
  group: "tokens",
  name: "no key is fetched from where a token says",
  request: "all of the above",
  expected: "0 fetches",
  got: `${fetches} fetches`,
  outcome: fetches === 0 ? "as expected" : "different",
  ...(fetches === 0 ? {} : { note: "the gateway asked a server that a token named" }),
})

/** A check that is ready to ask: tokens are made, and the attacker's server listens. */
export interface PreparedCheck {
  readonly ask: (each: CheckCase) => Promise<CheckRow>
  /** What became of the attacker's server. */
  readonly attacker: () => CheckRow
  readonly close: () => void
}

/**
 * Makes the tokens and starts the attacker's server.
 *
 * @throws when gateway or identity provider cannot be asked
 */
export const prepareCheck = async (target: CheckTarget): Promise<PreparedCheck> => {
  const hostileKey = newHostileKey()
  const hostile = await hostileServer(hostileKey)
  const credentials = await credentialsFor(target, hostile, hostileKey).catch((failure: unknown) => {
    hostile.close()
    throw failure
  })
  return {
    ask: (each) => askCase(each, { proxyUrl: target.proxyUrl, credentials, hits: target.hits }),
    attacker: () => attackerRow(hostile.fetches()),
    close: hostile.close,
  }
}

const run = async (target: CheckTarget): Promise<CheckResult> => {
  const prepared = await prepareCheck(target)
  try {
    const rows: Array<CheckRow> = []
    // One at a time: only then does a hit at the upstream belong to one request.
    for (const each of checkCases(target)) rows.push(await prepared.ask(each))
    rows.push(prepared.attacker())
    const count = (outcome: CheckRow["outcome"]) => rows.filter((row) => row.outcome === outcome).length
    const { proxyUrl, line, variant } = target
    return {
      target: { proxyUrl, line, variant },
      rows,
      asExpected: count("as expected"),
      different: count("different"),
      notAsked: count("not asked"),
    }
  } finally {
    prepared.close()
  }
}

/**
 * Asks a gateway everything it should refuse, and what it should let through.
 *
 * @fails {StackFailed} when gateway or identity provider cannot be asked at all
 */
export const check = Effect.fn("stack.check")((target: CheckTarget) =>
  Effect.tryPromise({
    try: () => run(target),
    catch: (failure) =>
      new StackFailed({ part: "check", reason: failure instanceof Error ? failure.message : "no answer", log: [] }),
  }),
)
