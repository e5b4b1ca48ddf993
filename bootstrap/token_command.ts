import { Effect, Layer } from "effect"
import * as httpIssuer from "../adapters/driven/token_issuer/http.ts"
import { tokenCommand as makeTokenCommand } from "../adapters/driving/cli/token.ts"
import { type Config, InvalidConfiguration, readEnvironment, type VariableName } from "./config.ts"

const NEEDED = [
  "IDP_URL",
  "IDP_REALM",
  "IDP_CLIENT_ID",
  "IDP_CLIENT_SECRET",
] as const satisfies ReadonlyArray<VariableName>

const issuerLayer = (config: Config) => {
  const { IDP_URL, IDP_REALM, IDP_CLIENT_ID, IDP_CLIENT_SECRET } = config
  if (
    IDP_URL === undefined ||
    IDP_REALM === undefined ||
    IDP_CLIENT_ID === undefined ||
    IDP_CLIENT_SECRET === undefined
  ) {
    const mistakes = NEEDED.filter((name) => config[name] === undefined).map((variable) => ({
      variable,
      rule: "is required by 'token'",
    }))
    return Effect.fail(new InvalidConfiguration({ mistakes }))
  }
  return Effect.succeed(
    httpIssuer.layer({ authUrl: IDP_URL, realm: IDP_REALM, clientId: IDP_CLIENT_ID, clientSecret: IDP_CLIENT_SECRET }),
  )
}

export const tokenCommand = makeTokenCommand(Layer.unwrap(Effect.flatMap(readEnvironment, issuerLayer)))
