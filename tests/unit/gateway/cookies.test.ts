import { equal, ok } from "node:assert/strict"
import { describe, test } from "node:test"
import { cookieNames, nameSet } from "../../../domain/gateway/cookies.ts"
import { cookieValue, withoutCookies } from "../../../domain/gateway/gateway_request.ts"
import { COMES_BACK_AS_ANOTHER, COMES_BACK_AS_OURS } from "../../support/cookie_spellings.ts"

const OURS = Object.values(cookieNames("http://gateway.example"))

describe("nameSet()", () => {
  for (const line of COMES_BACK_AS_OURS) test(JSON.stringify(line), () => ok(OURS.includes(nameSet(line))))
  for (const line of COMES_BACK_AS_ANOTHER)
    test(`${JSON.stringify(line)} sets another`, () => ok(!OURS.includes(nameSet(line))))
})

describe("a cookie that comes back", () => {
  const valueIn = (line: string) =>
    cookieValue({ method: "GET", rawTarget: "/", headers: [["cookie", line]] }, "portolan_session")

  test("is read by its exact name, with spaces and tabs around it", () => {
    equal(valueIn("a=b; portolan_session=x"), "x")
    equal(valueIn("a=b;\tportolan_session = x "), "x")
  })

  for (const line of ["\u00a0portolan_session=x", "\u0085portolan_session=x", "portolan_session\u00a0=x"])
    test(`${JSON.stringify(line)} is another one, and the upstream's`, () => {
      equal(valueIn(line), undefined)
      equal(withoutCookies(line, OURS), line)
    })
})
