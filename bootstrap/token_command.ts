import { Effect, Redacted } from "effect"
import { layer } from "../adapters/driven/token_issuer/http.ts"
import type { Command } from "../adapters/driving/cli/command.ts"
import { makeRequestToken } from "../application/identity/request_token.ts"
import type { InvalidIdentitySetup } from "../domain/identity/errors.ts"
import { type Config, InvalidConfiguration, readEnvironment, type VariableName } from "./config.ts"

const NEEDED = [
  "IDP_URL",
  "IDP_REALM",
  "IDP_CLIENT_ID",
  "IDP_CLIENT_SECRET",
] as const satisfies ReadonlyArray<VariableName>

const VARIABLE_OF: Readonly<Record<string, VariableName>> = {
  authUrl: "IDP_URL",
  realm: "IDP_REALM",
  clientId: "IDP_CLIENT_ID",
}

const fromSetup = ({ option, rule }: InvalidIdentitySetup) =>
  new InvalidConfiguration({ mistakes: [{ variable: VARIABLE_OF[option] ?? "IDP_CLIENT_SECRET", rule }] })

/** Our client at the identity provider, as the environment describes it. */
const issuer = (config: Config) => {
  const { IDP_URL, IDP_REALM, IDP_CLIENT_ID, IDP_CLIENT_SECRET } = config
  if (
    IDP_URL === undefined ||
    IDP_REALM === undefined ||
    IDP_CLIENT_ID === undefined ||
    IDP_CLIENT_SECRET === undefined
  )
    return Effect.fail(
      new InvalidConfiguration({
        mistakes: NEEDED.filter((variable) => config[variable] === undefined).map((variable) => ({
          variable,
          rule: "is required by 'token'",
        })),
      }),
    )
  return Effect.succeed(
    layer({ authUrl: IDP_URL, realm: IDP_REALM, clientId: IDP_CLIENT_ID, clientSecret: IDP_CLIENT_SECRET }),
  )
}

export const tokenCommand: Command = {
  path: ["token"],
  summary: "Requests an access token by client credentials and prints it",
  positionals: [],
  options: {},
  details: [`Needs ${NEEDED.join(", ")}.`],
  run: () =>
    Effect.gen(function* () {
      const provider = yield* Effect.flatMap(readEnvironment, issuer)
      const token = yield* Effect.flatten(makeRequestToken).pipe(
        Effect.provide(provider),
        Effect.catchTag("InvalidIdentitySetup", fromSetup),
      )
      // The one place that shows a token: it was asked for.
      const text = Redacted.value(token.text)
      return { json: { token: text, expiresAt: token.expiresAt ?? null }, text }
    }),
}
