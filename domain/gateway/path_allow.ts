import { isUnder } from "./canonical_path.ts"

/**
 * The path-allow plugin: true when the path is one of the allowed ones or lies below it, by whole segments.
 *
 * @param path canonical, without the route's prefix; anything else has been refused before
 * @see specification 4.4: `/open/allowed` reaches the upstream, `/open/secret` does not
 */
export const isAllowedPath = (path: string, allowed: ReadonlyArray<string>): boolean =>
  allowed.some((each) => isUnder(path, each))
