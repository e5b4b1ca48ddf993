import { deepEqual, equal, ok } from "node:assert/strict"
import { describe, test } from "node:test"
import { readStackOptions, STACK_DEFAULTS, type WrittenOptions } from "../../../domain/gateway/stack_options.ts"

describe("readStackOptions()", () => {
  test("nothing means the defaults", () => {
    deepEqual(readStackOptions({}), STACK_DEFAULTS)
  })

  test("every option is read", () => {
    deepEqual(
      readStackOptions({
        engine: "docker",
        gateway: "2.8",
        variant: "variant",
        database: "cassandra",
        proxyPort: "0",
        idpPort: "1",
        upstreamPort: "65535",
        jwtRoles: "a, b",
      }),
      {
        engine: "docker",
        gateway: "2.8",
        variant: "variant",
        database: "cassandra",
        proxyPort: 0,
        idpPort: 1,
        upstreamPort: 65_535,
        jwtRoles: ["a", "b"],
      },
    )
  })

  const refused: ReadonlyArray<readonly [WrittenOptions, RegExp]> = [
    [{ engine: "podman" }, /^--engine must be one of embedded, docker$/],
    [{ gateway: "3.10" }, /^--gateway must be one of 2\.8, 3\.9$/],
    [{ variant: "x" }, /^--variant must be one of/],
    [{ database: "mysql" }, /^--database must be one of off, postgres, cassandra$/],
    [{ proxyPort: "65536" }, /^--proxy-port must be a port/],
    [{ idpPort: "-1" }, /^--idp-port must be a port/],
    [{ upstreamPort: "8e3" }, /^--upstream-port must be a port/],
    [{ jwtRoles: "a,,b" }, /^--jwt-roles must be/],
    [{ proxyPort: "9000", idpPort: "9000" }, /must differ$/],
    [{ engine: "docker", gateway: "3.9", database: "postgres" }, /cannot be combined with gateway 3\.9/],
    [{ engine: "docker", gateway: "3.9", database: "cassandra" }, /cannot be combined with gateway 3\.9/],
    [{ gateway: "2.8", database: "postgres" }, /cannot be combined with the embedded engine/],
  ]
  for (const [written, reason] of refused)
    test(`${JSON.stringify(written)} is refused`, () => {
      const read = readStackOptions(written)
      ok("mistakes" in read)
      equal(read.mistakes.length, 1)
      ok(reason.test(read.mistakes[0] ?? ""))
    })

  test("every mistake is told", () => {
    const read = readStackOptions({ engine: "x", proxyPort: "y" })
    ok("mistakes" in read)
    equal(read.mistakes.length, 2)
  })
})
