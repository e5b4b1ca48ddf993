import type { InvalidIdentitySetup } from "../domain/identity/errors.ts"
import type { InvalidMediaSetup } from "../domain/media/errors.ts"
import type { InvalidSchedulerSetup } from "../domain/scheduler/errors.ts"
import { InvalidConfiguration, type VariableName } from "./config.ts"

type InvalidSetup = InvalidIdentitySetup | InvalidSchedulerSetup | InvalidMediaSetup

/** Which variable an option of an area came from; the first one stands for options that have none of their own. */
const VARIABLES: Readonly<Record<InvalidSetup["_tag"], Readonly<Record<string, VariableName>>>> = {
  InvalidIdentitySetup: {
    keys: "AUTH_PUBLIC_KEY",
    jwksUrl: "AUTH_JWKS_URL",
    issuer: "AUTH_ISSUER",
    audience: "AUTH_AUDIENCE",
    clockToleranceS: "AUTH_CLOCK_TOLERANCE_S",
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

/** A setup that can never work, as the mistake in the environment that it is. */
export const setupMistake = ({ _tag, option, rule }: InvalidSetup): InvalidConfiguration => {
  const variables = VARIABLES[_tag]
  const variable = variables[option] ?? Object.values(variables)[0] ?? "COLLECTIONS"
  return new InvalidConfiguration({ mistakes: [{ variable, rule }] })
}
