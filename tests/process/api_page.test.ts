// The API page in a real browser that can reach nothing but the service.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { join } from "node:path"
import { type Browser, chromium, type Locator, type Page } from "playwright-core"
import { CHROMIUM, realSuite } from "../support/real_servers.ts"
import { callerHeaders, endProcesses, serve, startProcess } from "../support/service_process.ts"

realSuite(CHROMIUM, "the API page", ({ executablePath }) => {
  let browser: Browser
  const elsewhere: Array<string> = []
  const complaints: Array<string> = []

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] })
  })

  afterAll(async () => {
    await browser?.close()
    await endProcesses()
  })

  /** A tab that reaches this address alone, on the page that `/` leads to. */
  const open = async (url: string): Promise<Page> => {
    const context = await browser.newContext()
    await context.route("**/*", (route) => {
      const asked = route.request().url()
      if (asked.startsWith(`${url}/`)) return route.continue()
      elsewhere.push(asked)
      return route.abort()
    })
    const page = await context.newPage()
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text())
    })
    page.on("pageerror", (failure) => complaints.push(failure.message))
    await page.goto(`${url}/`)
    expect(page.url()).toBe(`${url}/openapi`)
    return page
  }

  /** Opens an operation, tries it with its example, and gives the status that the page shows. */
  const execute = async (operation: Locator): Promise<string | null> => {
    await operation.locator(".opblock-summary-control").click()
    await operation.locator(".execute").click()
    return operation.locator(".live-responses-table .response .response-col_status").textContent()
  }

  const authorized = (page: Page) => page.locator(".auth-wrapper .authorize.locked").first().waitFor()

  test("of the demo shows every area, is authorized at once and after a reload, and Execute works", async () => {
    const demo = startProcess(["demo"], { STORE: "memory" })
    const page = await open((await demo.shows(/API page +(\S+)\/openapi\n/))[1] ?? "")
    await authorized(page)
    await page.reload()
    await authorized(page)

    const groups = await page.locator(".opblock-tag > a").allTextContents()
    expect(groups).toEqual(["products", "scheduler", "media", "operations"])
    const products = await page.locator("[id^=operations-products-]").evaluateAll((all) => all.map(({ id }) => id))
    expect(products.map((id) => id.split("-")[2])).toEqual([
      "list_products",
      "get_products",
      "create_products",
      "delete_products",
      "import_products",
      "export_products",
      "delete_products_as_admin",
    ])

    const create = page.locator("#operations-products-create_products")
    expect(await execute(create)).toStartWith("201")
    expect(await create.locator(".live-responses-table .response .response-col_description").textContent()).toContain(
      '"name": "Anchor chain"',
    )
    expect(await execute(page.locator("#operations-products-list_products"))).toStartWith("200")
    expect(await execute(page.locator("#operations-media-publishingLimit"))).toStartWith("200")

    const background = () => page.evaluate<string>("getComputedStyle(document.documentElement).backgroundColor")
    const shown: Array<string> = []
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme })
      await page.evaluate("scrollTo(0, 0)")
      await page.locator(colorScheme === "dark" ? "html.dark-mode" : "html:not(.dark-mode)").waitFor()
      const folder = process.env["TEST_SCREENSHOTS"]
      if (folder) await page.screenshot({ path: join(folder, `api-page-${colorScheme}.png`) })
      shown.push(await background())
    }
    expect(shown[1]).toBe("rgb(28, 32, 34)")
    expect(shown[0]).not.toBe(shown[1])
  })

  test("of the service keeps a pasted token over a reload, and forgets it at logout", async () => {
    const { address } = await serve({ STORE: "memory" })
    const page = await open(address)
    const dialog = page.locator(".auth-wrapper .authorize").first()
    await dialog.click()
    await page.locator(".auth-container input").fill(callerHeaders()["authorization"]?.replace("Bearer ", "") ?? "")
    await page.locator(".auth-btn-wrapper .authorize").click()
    await page.locator(".auth-btn-wrapper .btn-done").click()
    await page.reload()
    await authorized(page)
    expect(await execute(page.locator("#operations-products-list_products"))).toStartWith("200")

    await dialog.click()
    await page.locator(".auth-btn-wrapper .modal-btn", { hasText: "Logout" }).click()
    await page.goto(`${address}/openapi`)
    await page.locator(".opblock").first().waitFor()
    expect(await page.locator(".auth-wrapper .authorize.unlocked").count()).toBe(1)
  })

  test("asked nobody but the service, and the browser had nothing to complain about", () => {
    expect(elsewhere).toEqual([])
    expect(complaints).toEqual([])
  })
})
