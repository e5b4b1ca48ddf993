// Takes README's screenshots from the running product: `TEST_CHROMIUM=chromium bun tests/pages/screenshots.ts` writes
// api-page.png and report.png beside this file. They are looked at by a person, not compared.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Browser, chromium } from "playwright-core"
import { createStack, reportPage } from "../../bootstrap/stack.ts"
import { endProcesses, startProcess } from "../support/service_process.ts"

const SIZE = { width: 1180, height: 800 }

const picture = async (browser: Browser, name: string, url: string, prepare: string | undefined): Promise<void> => {
  const page = await browser.newPage({ viewport: SIZE, colorScheme: "light" })
  await page.goto(url)
  if (prepare !== undefined) {
    await page.locator(prepare).waitFor()
    await page.locator(prepare).locator(".opblock-summary-control").click()
  }
  await page.waitForLoadState("networkidle")
  await page.screenshot({ path: join(import.meta.dir, name) })
  await page.close()
}

const home = mkdtempSync(join(tmpdir(), "portolan-pictures-"))
const stack = createStack({ home })
const browser = await chromium.launch({
  executablePath: process.env["TEST_CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
})
try {
  const demo = startProcess(["demo"], { STORE: "memory" })
  const url = (await demo.shows(/API page +(\S+)\n/))[1] ?? ""
  await picture(browser, "api-page.png", url, "#operations-products-list_products")
  // The check of a gateway that has another line's routes shows what a difference looks like.
  const { urls } = await stack.up({ gateway: "2.8", proxyPort: 0, idpPort: 0, upstreamPort: 0 })
  process.stdout.write(`${urls.proxy}\n`)
  const report = join(home, "report.html")
  await Bun.write(report, reportPage(await stack.check(), "leak", new Date()))
  await picture(browser, "report.png", `file://${report}`, undefined)
} finally {
  await browser.close()
  await stack.down()
  await endProcesses()
  rmSync(home, { recursive: true, force: true })
}
