import { Context, Data, type Effect } from "effect"

/** The identity provider did not take the code. */
export class CodeRefused extends Data.TaggedError("CodeRefused")<{ readonly status: number }> {
  readonly code = "CODE_REFUSED"
  override get message(): string {
    return `The identity provider refused the code with status ${this.status}`
  }
}

/** The identity provider gave no usable answer. */
export class ProviderUnavailable extends Data.TaggedError("ProviderUnavailable")<{ readonly reason: string }> {
  readonly code = "PROVIDER_UNAVAILABLE"
  override get message(): string {
    return `The identity provider gave no usable answer: ${this.reason}`
  }
}

/** What the browser brought back, and what proves that the login was begun here. */
export interface RedeemableCode {
  readonly code: string
  /** PKCE verifier (RFC 7636), 43 characters. */
  readonly verifier: string
  readonly redirectUri: string
}

/** Driven port: exchanges an authorization code for an ID token; its signature and claims are still to be judged. */
export class CodeExchange extends Context.Service<
  CodeExchange,
  { readonly redeem: (code: RedeemableCode) => Effect.Effect<string, CodeRefused | ProviderUnavailable> }
>()("portolan/domain/gateway/CodeExchange") {}
