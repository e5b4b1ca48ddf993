import type { RequestContext } from "./request_context.ts"

/**
 * Names a request header that this answer depends on, beside those that are named already.
 *
 * @see RFC 9110 section 12.5.5
 */
export const addVary = ({ headers }: RequestContext["set"], name: string): void => {
  const known = headers["vary"]
  headers["vary"] = known === undefined ? name : `${known}, ${name}`
}
