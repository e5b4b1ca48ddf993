// The browser's login over HTTP, against the running stack: specification 4.4 and 17.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { SERVICES, stackFiles } from "../../stack/state.ts"
import { Browser } from "./http_browser.ts"
import { type RunningStack, STACK_TEST_MS, startStack, upstreamHits } from "./running_stack.ts"

let stack: RunningStack

beforeAll(async () => {
  stack = await startStack()
}, STACK_TEST_MS)
afterAll(() => stack.stop(), STACK_TEST_MS)

const page = (path = "/oidc/page") => `${stack.state.urls.proxy}${path}`
const password = () => stack.state.secrets.userPassword

test("a login opens the upstream, and the cookie holds nothing", async () => {
  const browser = new Browser()
  const { url, status, text } = await browser.logIn(page("/oidc/page?x=1"), password())
  expect([url, status]).toEqual([page("/oidc/page?x=1"), 200])
  const echo = JSON.parse(text) as { path: string; headers: ReadonlyArray<readonly [string, string]> }
  expect(echo.path).toBe("/page?x=1")
  const headers = new Map(echo.headers)
  expect(JSON.parse(Buffer.from(headers.get("x-userinfo") ?? "", "base64").toString())).toMatchObject({
    preferred_username: "alice",
  })
  expect(headers.get("cookie") ?? "").not.toContain("portolan_")
  expect(browser.cookie(page(), "portolan_session")).toMatch(/^[\w-]{43}$/)
})

test("a wrong password opens nothing", async () => {
  const browser = new Browser()
  const before = await upstreamHits(stack.state)
  const { status, text } = await browser.logIn(page(), "wrong")
  expect([status, text.includes("Wrong user name or password")]).toEqual([401, true])
  expect(await upstreamHits(stack.state)).toBe(before)
})

test("a callback works once, and for the browser that began the login", async () => {
  const [victim, other] = [new Browser(), new Browser()]
  const callback = await victim.logInUntil(page(), password(), "/oidc/cb?")
  expect((await other.open(callback)).status).toBe(400)
  expect((await victim.open(callback)).status).toBe(200)
  expect((await victim.get(callback)).status).toBe(400)
  const changed = new URL(await other.logInUntil(page(), password(), "/oidc/cb?"))
  changed.searchParams.set("state", "x".repeat(43))
  expect((await other.get(changed.href)).status).toBe(400)
})

test("any change to the session cookie is no session, and no error", async () => {
  const browser = new Browser()
  await browser.logIn(page(), password())
  const session = browser.cookie(page(), "portolan_session") ?? ""
  const before = await upstreamHits(stack.state)
  for (const at of [0, 20, 42]) {
    const flipped = session.slice(0, at) + (session[at] === "A" ? "B" : "A") + session.slice(at + 1)
    const answer = await fetch(page(), { redirect: "manual", headers: { cookie: `portolan_session=${flipped}` } })
    expect(answer.status).toBe(302)
  }
  expect(await upstreamHits(stack.state)).toBe(before)
})

test("after logout a stolen copy of the cookie opens nothing, and the provider asks for the password again", async () => {
  const browser = new Browser()
  await browser.logIn(page(), password())
  const stolen = browser.cookie(page(), "portolan_session") ?? ""
  const asThief = () => fetch(page(), { redirect: "manual", headers: { cookie: `portolan_session=${stolen}` } })
  expect((await asThief()).status).toBe(200)
  const confirm = await browser.open(page("/oidc/logout"))
  expect(confirm.text).toContain("Log out")
  const out = await browser.submit(confirm, { logout: "yes" })
  expect(out.text).toContain('name="password"')
  const before = await upstreamHits(stack.state)
  expect((await asThief()).status).toBe(302)
  expect(await upstreamHits(stack.state)).toBe(before)
})

test("a posted form is sent to log in, and its body is never replayed", async () => {
  const browser = new Browser()
  const answer = await fetch(page("/oidc/form"), { method: "POST", body: "a=b", redirect: "manual" })
  expect(answer.status).toBe(302)
  const { text } = await browser.logIn(page("/oidc/form"), password())
  expect(JSON.parse(text)).toMatchObject({ method: "GET", length: 0 })
})

test("an upstream cannot set or see the gateway's cookies", async () => {
  const answer = await fetch(page("/open/allowed"), {
    headers: { cookie: "portolan_session=x; mine=1; portolan_login=y" },
  })
  const echo = (await answer.json()) as { headers: ReadonlyArray<readonly [string, string]> }
  expect(new Map(echo.headers).get("cookie")).toBe("mine=1")
})

test("no token, code, state, cookie or password is in a log", () => {
  const logs = SERVICES.map((service) => readFileSync(stackFiles(stack.home).log(service), "utf8")).join("\n")
  expect(logs.length).toBeGreaterThan(1000)
  expect(logs).not.toMatch(/eyJ|code=|state=(?!<)|portolan_session|portolan_login/)
  expect(logs).not.toContain(password())
})
