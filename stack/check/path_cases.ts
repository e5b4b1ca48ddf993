import type { Route } from "../../domain/gateway/route_profile.ts"
import type { CheckCase } from "./check_case.ts"

/** Raw request target, right answers, and the path the upstream must see when it is let through. */
type Row = readonly [target: string, expect: ReadonlyArray<string>, upstreamPath?: string]

const OPEN = "/allowed"

/** Gateway notes, section 1.4, column "ours"; section 3, cases 1 to 9 and 11. The same on every line. */
const ROWS: ReadonlyArray<Row> = [
  ["/open/allowed", ["200"], OPEN],
  ["/open/secret", ["403"]],
  ["/open", ["403"]],
  ["/open/", ["403"]],
  ["/open/allowed/", ["200"], "/allowed/"],
  ["/open/allowed/x", ["200"], "/allowed/x"],
  ["/open/allowed?p=/secret", ["200"], "/allowed?p=/secret"],
  ["/open/allowedx", ["403"]],
  ["/open/allowed;x=1", ["403"]],
  ["/open/secret;x=1", ["403"]],
  ["/open/secret;/allowed", ["403"]],
  ["/open/secret/", ["403"]],
  ["/open/secret?p=/allowed", ["403"]],
  ["/open/allowed/../secret", ["403"]],
  ["/open/allowed/%2e%2e/secret", ["403"]],
  ["/open/allowed/%2E%2E/secret", ["403"]],
  ["/open/allowed/%2E./secret", ["403"]],
  ["/open/allowed/.%2e/secret", ["403"]],
  ["/open/allowed/..", ["403"]],
  ["/open/allowed%2f..%2fsecret", ["403"]],
  ["/open/allowed%2F%2E%2E%2Fsecret", ["403"]],
  ["/open/allowed/..;/secret", ["403"]],
  ["/open/allowed/..%3b/secret", ["403"]],
  ["/open/allowed/..%5csecret", ["403"]],
  ["/open/allowed/..%5Csecret", ["403"]],
  ["/open/allowed\\..\\secret", ["403"]],
  ["/open/allowed/%252e%252e/secret", ["403"]],
  ["/open/allowed/%25%32%65%25%32%65/secret", ["403"]],
  ["/open/allowed%252f..%252fsecret", ["403"]],
  ["//open/secret", ["403"]],
  ["/open//secret", ["403"]],
  ["/open/./secret", ["403"]],
  ["/./open/secret", ["403"]],
  ["/open/%73ecret", ["403"]],
  ["//open/allowed", ["403"]],
  ["/open//allowed", ["403"]],
  ["/open/%61llowed", ["200"], OPEN],
  ["/open/secret/../allowed", ["403"]],
  ["/x/../open/allowed", ["403"]],
  ["/open/Allowed", ["403"]],
  ["/open/Secret", ["403"]],
  ["/OPEN/allowed", ["404"]],
  ["/OPEN/secret", ["404"]],
  ["/open%2fallowed", ["404", "403"]],
  ["/open%2Fsecret", ["404", "403"]],
  ["/openallowed", ["404"]],
  ["/opensecret", ["404"]],
  ["/apix", ["404"]],
  ["/jwtfoo", ["404"]],
  ["/api-accessx", ["404"]],
  ["/open/allowed%00", ["400"]],
  ["/open/allowed%00/../secret", ["400"]],
  ["/open/%c0%ae%c0%ae/secret", ["400"]],
  ["/open/allowed%zz", ["400"]],
  ["/open/allowed%", ["400"]],
  ["/open/allowed%0d%0ax", ["400"]],
  ["/open/allowed#/../secret", ["400"]],
  ["http://evil.example/open/secret", ["403"]],
  ["http://evil.example/open/allowed", ["200"], OPEN],
  ["/jwt/../open/secret", ["403"]],
  ["//evil.example/../oidc/x", ["403"]],
  ["/nothing", ["404"]],
  ["/", ["404"]],
]

const METHODS = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"] as const

const receives =
  (path: string): NonNullable<CheckCase["received"]> =>
  (echo) =>
    echo.path === path ? undefined : `the upstream received ${echo.path} instead of ${path}`

/** Which routes exist, the tricks with paths, and the methods. */
export const pathCases = (routes: ReadonlyArray<Route>): ReadonlyArray<CheckCase> => [
  ...ROWS.map(
    ([target, expect, path]): CheckCase => ({
      group: "paths",
      name: target,
      target,
      expect,
      ...(path === undefined ? {} : { received: receives(path) }),
    }),
  ),
  ...METHODS.map(
    (method): CheckCase => ({
      group: "paths",
      name: `${method} /open/secret`,
      method,
      target: "/open/secret",
      expect: ["403"],
    }),
  ),
  { group: "paths", name: "TRACE /open/secret", method: "TRACE", target: "/open/secret", expect: ["405"] },
  ...["/jwt", "/oidc", "/api", "/api-access"].flatMap((prefix) =>
    METHODS.map((method): CheckCase => {
      const policy = routes.find((route) => route.prefix === prefix)?.policy
      const status = policy === undefined ? "404" : policy === "oidc-browser" ? "302" : "401"
      return {
        group: "routes",
        name: `${method} ${prefix} without credentials`,
        method,
        target: `${prefix}/x`,
        expect: [status],
      }
    }),
  ),
]
