import type { CheckedGateway } from "./checked_gateway.ts"
import type { CredentialName, TokenBase } from "./credentials.ts"

/** A request that the gateway must let through. */
export interface GoodRequest {
  /** What rows call its route. */
  readonly label: string
  readonly target: string
  readonly credential: CredentialName
  readonly base: TokenBase
  /** True where it carries a token. */
  readonly hasToken: boolean
}

/** One request that passes for the open path and for each bearer route. */
export const goodRequests = ({ isStack, open, routes }: CheckedGateway): ReadonlyArray<GoodRequest> => [
  ...(open === undefined
    ? []
    : ([
        { label: isStack ? "/open" : open, target: open, credential: "none", base: "access", hasToken: false },
      ] as const)),
  ...routes.flatMap(({ policy, label, target }): ReadonlyArray<GoodRequest> => {
    if (policy === "oidc-browser") return []
    const isId = policy === "oidc-id-token"
    const [credential, base] = isId ? (["ID token", "id"] as const) : (["access token", "access"] as const)
    return [{ label, target, credential, base, hasToken: true }]
  }),
]
