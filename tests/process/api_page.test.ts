// The API page in a real browser that can reach nothing but the service.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { type Browser, chromium, type Locator, type Page } from "playwright-core"
import { CHROMIUM, realSuite } from "../support/real_servers.ts"
import { endProcesses, startProcess } from "../support/service_process.ts"

realSuite(CHROMIUM, "the API page", ({ executablePath }) => {
  let browser: Browser
  let page: Page
  let url: string
  let token: string
  const elsewhere: Array<string> = []
  const complaints: Array<string> = []

  beforeAll(async () => {
    const demo = startProcess(["demo"], { STORE: "memory" })
    url = (await demo.shows(/API page +(\S+)\/openapi\n/))[1] ?? ""
    token = (await demo.shows(/^(eyJ\S+)$/m))[1] ?? ""
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] })
    const context = await browser.newContext()
    await context.route("**/*", (route) => {
      const asked = route.request().url()
      if (asked.startsWith(`${url}/`)) return route.continue()
      elsewhere.push(asked)
      return route.abort()
    })
    page = await context.newPage()
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text())
    })
    page.on("pageerror", (failure) => complaints.push(failure.message))
    await page.goto(`${url}/openapi`)
  })

  afterAll(async () => {
    await browser?.close()
    await endProcesses()
  })

  /** Opens an operation, tries it with its example, and gives the status that the page shows. */
  const execute = async (operation: Locator): Promise<string | null> => {
    await operation.locator(".opblock-summary-control").click()
    await operation.locator(".execute").click()
    return operation.locator(".live-responses-table .response .response-col_status").textContent()
  }

  test("shows every operation", async () => {
    await page.locator("#operations-products-create_products").waitFor()
    expect(await page.locator(".opblock").count()).toBe(8)
  })

  test("with a pasted token, Execute creates a record and reads it", async () => {
    await page.locator(".auth-wrapper .authorize").first().click()
    await page.locator(".auth-container input").fill(token)
    await page.locator(".auth-btn-wrapper .authorize").click()
    await page.locator(".auth-btn-wrapper .btn-done").click()

    const create = page.locator("#operations-products-create_products")
    expect(await execute(create)).toStartWith("201")
    expect(await create.locator(".live-responses-table .response .response-col_description").textContent()).toContain(
      '"name": "Anchor chain"',
    )
    const list = page.locator("#operations-products-list_products")
    expect(await execute(list)).toStartWith("200")
  })

  test("asked nobody but the service, and the browser had nothing to complain about", () => {
    expect(elsewhere).toEqual([])
    expect(complaints).toEqual([])
  })
})
