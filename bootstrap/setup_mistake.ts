import type { InvalidIdentitySetup } from "../domain/identity/errors.ts"
import type { InvalidMediaSetup } from "../domain/media/errors.ts"
import type { InvalidSchedulerSetup } from "../domain/scheduler/errors.ts"
import { InvalidConfiguration, type VariableName } from "./config.ts"

type InvalidSetup = InvalidIdentitySetup | InvalidSchedulerSetup | InvalidMediaSetup

/** Which variable an area's option comes from. The first one is named for an option that has no variable of its own. */
const VARIABLES: Readonly<Record<InvalidSetup["_tag"], Readonly<Record<string, VariableName>>>> = {
  InvalidIdentitySetup: {
    keys: "AUTH_PUBLIC_KEY",
    jwksUrl: "AUTH_JWKS_URL",
    issuer: "AUTH_ISSUER",
    audience: "AUTH_AUDIENCE",
    clockToleranceS: "AUTH_CLOCK_TOLERANCE_S",
    authUrl: "IDP_URL",
    realm: "IDP_REALM",
    clientId: "IDP_CLIENT_ID",
    clientSecret: "IDP_CLIENT_SECRET",
  },
  InvalidSchedulerSetup: {
    baseUrl: "SCHEDULER_URL",
    token: "SCHEDULER_TOKEN",
    scaleGroup: "SCHEDULER_SCALE_GROUP",
  },
  InvalidMediaSetup: {
    graphUrl: "GRAPH_URL",
    apiVersion: "GRAPH_API_VERSION",
    accountId: "GRAPH_ACCOUNT_ID",
    accessToken: "GRAPH_ACCESS_TOKEN",
  },
}

/** Names the variable behind an area's option that can never work, so that the user reads of what was set. */
export const setupMistake = ({ _tag, option, rule }: InvalidSetup): InvalidConfiguration => {
  const variables = VARIABLES[_tag]
  const variable = variables[option] ?? Object.values(variables)[0] ?? "COLLECTIONS"
  return new InvalidConfiguration({ mistakes: [{ variable, rule }] })
}
