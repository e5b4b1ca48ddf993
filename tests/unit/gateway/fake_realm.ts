// The policies' ports over tables: tokens are names, and everything that is asked is counted.
import { Effect, Layer } from "effect"
import { layer as browserSessions } from "../../../adapters/driven/browser_sessions/memory.ts"
import { CodeExchange, CodeRefused, ProviderUnavailable } from "../../../domain/gateway/code_exchange.ts"
import type { GatewaySettings } from "../../../domain/gateway/gateway_settings.ts"
import { LoginSecrets } from "../../../domain/gateway/login_secrets.ts"
import { ALLOWED_PATHS, routesOf } from "../../../domain/gateway/route_profile.ts"
import { KeysUnavailable, Unauthenticated } from "../../../domain/identity/errors.ts"
import { type SignedToken, SignedTokens } from "../../../domain/identity/signed_tokens.ts"

export const CLIENT = "web"
export const ISSUER = "http://idp.example/realms/demo"

export const settings: GatewaySettings = {
  routes: [...routesOf("3.9", "standard"), { prefix: "/jwt", policy: "realm-jwt" }],
  allowedPaths: ALLOWED_PATHS,
  realm: "demo",
  issuer: ISSUER,
  clientId: CLIENT,
  accessAudience: "account",
  jwtRoles: [],
  publicUrl: "http://gateway.example",
  authorizationUrl: `${ISSUER}/auth`,
  endSessionUrl: `${ISSUER}/logout`,
}

export interface FakeRealm {
  /** Token text -> what it says; set by the test. */
  readonly tokens: Map<string, SignedToken>
  /** What the token endpoint does with a code. */
  exchange: string | "refused" | "down"
  /** What happens when keys are asked for. */
  keys: "known" | "down" | "broken"
  readonly asked: { exchanges: number; opened: number; verifiers: Array<string> }
}

export const fakeRealm = (): FakeRealm => ({
  tokens: new Map(),
  exchange: "refused",
  keys: "known",
  asked: { exchanges: 0, opened: 0, verifiers: [] },
})

const keysState = (realm: FakeRealm): Effect.Effect<void, KeysUnavailable> => {
  if (realm.keys === "broken") throw new Error("the key source broke")
  return realm.keys === "down" ? Effect.fail(new KeysUnavailable({ reason: "refused" })) : Effect.void
}

/** Secrets that can be told apart, of the length real ones have. */
const secretNumber = (number: number) => `s${number}`.padEnd(43, "_")

export const portsOf = (realm: FakeRealm) => {
  let drawn = 0
  return Layer.mergeAll(
    browserSessions,
    Layer.succeed(SignedTokens, {
      open: (token) =>
        Effect.suspend(() => {
          realm.asked.opened++
          const signed = realm.tokens.get(token)
          return Effect.andThen(
            keysState(realm),
            signed === undefined ? Effect.fail(new Unauthenticated({ reason: "signature" })) : Effect.succeed(signed),
          )
        }),
      ready: Effect.suspend(() => keysState(realm)),
    }),
    Layer.succeed(CodeExchange, {
      redeem: ({ verifier }) =>
        Effect.suspend((): Effect.Effect<string, CodeRefused | ProviderUnavailable> => {
          realm.asked.exchanges++
          realm.asked.verifiers.push(verifier)
          if (realm.exchange === "refused") return Effect.fail(new CodeRefused({ status: 400 }))
          if (realm.exchange === "down") return Effect.fail(new ProviderUnavailable({ reason: "network" }))
          return Effect.succeed(realm.exchange)
        }),
    }),
    Layer.succeed(LoginSecrets, {
      draw: Effect.sync(() => secretNumber(drawn++)),
      digest: (text) => Effect.succeed(`digest-of-${text}`),
    }),
  )
}
