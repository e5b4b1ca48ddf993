import { Effect, type Layer, Redacted } from "effect"
import { makeRequestToken } from "../../../application/identity/request_token.ts"
import type { TokenIssuer } from "../../../domain/identity/token_issuer.ts"
import type { Command, CommandError } from "./command.ts"

/** Prints an access token of our own service: the one command whose result is a secret. */
export const tokenCommand = (issuer: Layer.Layer<TokenIssuer, CommandError>): Command => ({
  path: ["token"],
  summary: "Asks the identity provider for an access token (client credentials) and prints it",
  positionals: [],
  options: {},
  details: ["Needs IDP_URL, IDP_REALM, IDP_CLIENT_ID and IDP_CLIENT_SECRET."],
  run: () =>
    Effect.gen(function* () {
      const { text, expiresAt } = yield* yield* makeRequestToken
      const accessToken = Redacted.value(text)
      return { json: { accessToken, expiresAt: expiresAt ?? null }, text: accessToken }
    }).pipe(Effect.provide(issuer)),
})
