// Every case of the token check list that is one request against one setup.
import { CLAIM_CASES } from "./claims.ts"
import { ROLE_CASES } from "./roles.ts"
import { KEY_CASES } from "./setup.ts"
import { SIGNATURE_CASES } from "./signature.ts"
import type { TokenCase } from "./token_case.ts"
import { TRANSPORT_CASES } from "./transport.ts"

export const TOKEN_CASES: ReadonlyArray<TokenCase> = [
  ...TRANSPORT_CASES,
  ...SIGNATURE_CASES,
  ...CLAIM_CASES,
  ...ROLE_CASES,
  ...KEY_CASES,
]
