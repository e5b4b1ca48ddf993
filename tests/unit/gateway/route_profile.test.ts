import { deepEqual, equal } from "node:assert/strict"
import { describe, test } from "node:test"
import { LINES, matchRoute, routesOf, VARIANTS } from "../../../domain/gateway/route_profile.ts"

/** Specification 4.4. */
const PRESENT: ReadonlyArray<readonly [route: string, builds: ReadonlyArray<string>]> = [
  ["/open", ["2.8 standard", "2.8 variant", "3.9 standard", "3.9 variant"]],
  ["/jwt", ["2.8 standard", "2.8 variant"]],
  ["/oidc", ["2.8 standard", "2.8 variant", "3.9 standard", "3.9 variant"]],
  ["/api", ["2.8 variant", "3.9 standard", "3.9 variant"]],
  ["/api-access", ["3.9 standard", "3.9 variant"]],
]

describe("routesOf()", () => {
  for (const line of LINES)
    for (const variant of VARIANTS)
      test(`${line} ${variant}`, () => {
        deepEqual(
          routesOf(line, variant).map(({ prefix }) => String(prefix)),
          PRESENT.filter(([, builds]) => builds.includes(`${line} ${variant}`)).map(([route]) => route),
        )
      })
})

describe("matchRoute()", () => {
  const routes = routesOf("3.9", "standard")
  for (const [path, prefix, rest] of [
    ["/api", "/api", "/"],
    ["/api/", "/api", "/"],
    ["/api/x/y", "/api", "/x/y"],
    ["/api-access/x", "/api-access", "/x"],
  ] as const)
    test(`${path} goes to ${prefix} as ${rest}`, () => {
      const match = matchRoute(routes, path)
      deepEqual([match?.route.prefix, match?.rest], [prefix, rest])
    })

  for (const path of ["/", "/apix", "/api-accessx", "/API/x", "/jwt/x"])
    test(`${path} goes nowhere`, () => {
      equal(matchRoute(routes, path), undefined)
    })
})
