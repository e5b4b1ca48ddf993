import { Effect, Redacted } from "effect"
import { layer } from "../adapters/driven/token_issuer/http.ts"
import { done } from "../adapters/driving/cli/command.ts"
import { makeRequestToken } from "../application/identity/request_token.ts"
import { type Config, InvalidConfiguration, readEnvironment, type VariableName } from "./config.ts"
import { setupMistake } from "./setup_mistake.ts"

const NEEDED = [
  "IDP_URL",
  "IDP_REALM",
  "IDP_CLIENT_ID",
  "IDP_CLIENT_SECRET",
] as const satisfies ReadonlyArray<VariableName>

/** Our client at the identity provider, as the environment describes it. */
const issuer = (config: Config) => {
  const { IDP_URL, IDP_REALM, IDP_CLIENT_ID, IDP_CLIENT_SECRET } = config
  if (!IDP_URL || !IDP_REALM || !IDP_CLIENT_ID || !IDP_CLIENT_SECRET) {
    const missing = NEEDED.filter((variable) => config[variable] === undefined)
    const mistakes = missing.map((variable) => ({ variable, rule: "is required by 'token'" }))
    return Effect.fail(new InvalidConfiguration({ mistakes }))
  }
  return Effect.succeed(
    layer({ authUrl: IDP_URL, realm: IDP_REALM, clientId: IDP_CLIENT_ID, clientSecret: IDP_CLIENT_SECRET }),
  )
}

/**
 * `portolan token`: an access token of our own service, and nothing else on standard output.
 *
 * @see specification 4.2 and 15
 */
export const requestToken = Effect.gen(function* () {
  const provider = yield* Effect.flatMap(readEnvironment, issuer)
  const token = yield* Effect.flatten(makeRequestToken).pipe(
    Effect.provide(provider),
    Effect.catchTag("InvalidIdentitySetup", setupMistake),
  )
  // The one place that shows a token: it was asked for.
  const text = Redacted.value(token.text)
  return done({ token: text, expiresAt: token.expiresAt ?? null }, text)
})
