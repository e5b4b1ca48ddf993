import { Context, type Effect } from "effect"

/** Driven port: unguessable text, and the digest PKCE asks for. */
export class LoginSecrets extends Context.Service<
  LoginSecrets,
  {
    /** 32 random bytes, base64url: 43 characters. */
    readonly draw: Effect.Effect<string>
    /** SHA-256 of an ASCII text, base64url (RFC 7636 section 4.2, `S256`). */
    readonly digest: (text: string) => Effect.Effect<string>
  }
>()("portolan/domain/gateway/LoginSecrets") {}
