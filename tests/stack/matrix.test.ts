// Specification 4.4 and 17: every row, on every build, against the running embedded stack. Each refusal
// also asserts that the upstream was not asked.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { type Line, routesOf, type Variant } from "../../domain/gateway/route_profile.ts"
import { stackTarget } from "../../stack/check/check_target.ts"
import { stackGateway } from "../../stack/check/checked_gateway.ts"
import { checkCases, type PreparedCheck, prepareCheck } from "../../stack/check/run_check.ts"
import { type RunningStack, STACK_TEST_MS, startStack } from "./running_stack.ts"

const BUILDS: ReadonlyArray<readonly [line: Line, variant: Variant, jwtRoles: ReadonlyArray<string>]> = [
  ["2.8", "standard", ["catalogue-admin"]],
  ["2.8", "variant", []],
  ["3.9", "standard", []],
]

for (const [line, variant, jwtRoles] of BUILDS)
  describe(`gateway ${line} ${variant}${jwtRoles.length > 0 ? " with roles" : ""}`, () => {
    let stack: RunningStack
    let prepared: PreparedCheck

    beforeAll(async () => {
      stack = await startStack({ gateway: line, variant, jwtRoles })
      prepared = await prepareCheck(stackTarget(stack.state))
    }, STACK_TEST_MS)

    afterAll(async () => {
      prepared.close()
      await stack.stop()
    }, STACK_TEST_MS)

    for (const each of checkCases(stackGateway(line, variant, jwtRoles)))
      test(`${each.group}: ${each.name}`, async () => {
        const { outcome, got, note } = await prepared.ask(each)
        expect({ outcome, got, note }).toEqual({ outcome: "as expected", got, note: undefined })
      })

    test("routes of other builds are not there", async () => {
      const present = routesOf(line, variant).map(({ prefix }) => prefix)
      const absent = ["/jwt", "/api", "/api-access"].filter((prefix) => !present.some((each) => each === prefix))
      const asked = absent.map((prefix) => fetch(`${stack.state.urls.proxy}${prefix}/x`, { redirect: "manual" }))
      expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(absent.map(() => 404))
    })

    test("no token made the gateway ask the attacker's server", () => {
      expect(prepared.attacker()).toMatchObject({ outcome: "as expected", got: "0 fetches" })
    })
  })
