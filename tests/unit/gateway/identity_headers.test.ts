import { deepEqual, equal, ok } from "node:assert/strict"
import { describe, test } from "node:test"
import fc from "fast-check"
import { identityHeaders, isIdentityHeader } from "../../../domain/gateway/identity_headers.ts"

describe("identityHeaders()", () => {
  test("says who is asking", () => {
    const headers = new Map(
      identityHeaders({ sub: "a1", name: "Zoë", realm_access: { roles: ["user", 1, "a,b", "x\r\ny"] } }),
    )
    equal(headers.get("x-credential-identifier"), "a1")
    equal(headers.get("x-authenticated-groups"), "user")
    deepEqual(JSON.parse(Buffer.from(headers.get("x-userinfo") ?? "", "base64").toString("utf8")), {
      sub: "a1",
      name: "Zoë",
    })
  })

  test("no claim breaks out of a header", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (sub, role) => {
        for (const [, value] of identityHeaders({ sub, name: sub, realm_access: { roles: [role] } }))
          ok(/^[\x20-\x7e]*$/.test(value))
      }),
    )
  })
})

describe("isIdentityHeader()", () => {
  for (const name of [
    "x-userinfo",
    "x-id-token",
    "x-access-token",
    "x-credential-identifier",
    "x-consumer-username",
    "x-authenticated-userid",
    "x-anonymous-consumer",
    "x_userinfo",
    "x-id_token",
    "x_consumer-anything",
    "x-authenticated_groups",
  ])
    test(name, () => ok(isIdentityHeader(name)))
  for (const name of ["authorization", "x-request-id", "x-userinfo-extra", "userinfo"])
    test(`${name} is none`, () => ok(!isIdentityHeader(name)))
})
