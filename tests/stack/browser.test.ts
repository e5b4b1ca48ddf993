// A real browser logs in through /oidc, reaches the upstream, logs out and is asked again.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { type Browser, chromium } from "playwright-core"
import { CHROMIUM, realSuite } from "../support/real_servers.ts"
import { type RunningStack, STACK_TEST_MS, startStack, upstreamHits } from "./running_stack.ts"

realSuite(CHROMIUM, "a browser", ({ executablePath }) => {
  let stack: RunningStack
  let browser: Browser

  beforeAll(async () => {
    stack = await startStack()
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] })
  }, STACK_TEST_MS)

  afterAll(async () => {
    await browser.close()
    await stack.stop()
  }, STACK_TEST_MS)

  test(
    "logs in through /oidc, reaches the upstream, logs out and is asked again",
    async () => {
      const { urls, secrets } = stack.state
      const page = await browser.newPage()
      const before = await upstreamHits(stack.state)
      const logIn = async () => {
        await page.getByLabel("User name").fill("alice")
        await page.getByLabel("Password").fill(secrets.userPassword)
        await page.getByRole("button", { name: "Log in" }).click()
      }

      await page.goto(`${urls.proxy}/oidc/page?x=1`)
      expect(new URL(page.url()).origin).toBe(urls.idp)
      expect(await upstreamHits(stack.state)).toBe(before)
      await logIn()
      await page.waitForURL(`${urls.proxy}/oidc/page?x=1`)
      expect(JSON.parse((await page.textContent("body")) ?? "")).toMatchObject({ method: "GET", path: "/page?x=1" })

      const session = (await page.context().cookies(urls.proxy)).find((each) => each.name === "portolan_session")
      expect(session).toMatchObject({ httpOnly: true, sameSite: "Lax" })

      await page.goto(`${urls.proxy}/oidc/logout`)
      await page.getByRole("button", { name: "Log out" }).click()
      await page.waitForURL((url) => url.origin === urls.idp && url.pathname.includes("/login/"))
      expect(await page.getByLabel("Password").isVisible()).toBe(true)
      const reached = await upstreamHits(stack.state)
      await page.goto(`${urls.proxy}/oidc/page`)
      expect(new URL(page.url()).origin).toBe(urls.idp)
      expect(await upstreamHits(stack.state)).toBe(reached)
      await logIn()
      await page.waitForURL(`${urls.proxy}/oidc/page`)
    },
    STACK_TEST_MS,
  )
})
