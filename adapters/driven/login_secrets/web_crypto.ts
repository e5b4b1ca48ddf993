import { Effect, Layer } from "effect"
import { Base64Url } from "effect/encoding"
import { LoginSecrets } from "../../../domain/gateway/login_secrets.ts"

/** Random bytes of a secret: 256 bits, 43 characters as base64url. */
const BYTES = 32

/** Draws secrets from the platform's random generator (Web Crypto). */
export const layer: Layer.Layer<LoginSecrets> = Layer.succeed(
  LoginSecrets,
  LoginSecrets.of({
    draw: Effect.sync(() => Base64Url.encode(crypto.getRandomValues(new Uint8Array(BYTES)))),
    digest: (text) =>
      Effect.map(
        Effect.promise(() => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
        (hash) => Base64Url.encode(new Uint8Array(hash)),
      ),
  }),
)
