// Takes README's screenshots from the running product: `TEST_CHROMIUM=chromium bun tests/pages/screenshots.ts` writes
// api-page.png and report.png beside this file. A person looks at them; nothing compares them.
import { rmSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { type Browser, chromium, type Page } from "playwright-core"
import { stackTarget } from "../../stack/check/check_target.ts"
import { reportPage } from "../../stack/check/report_page.ts"
import { check } from "../../stack/check/run_check.ts"
import { carelessGateway } from "../stack/careless_gateway.ts"
import { serveOn } from "../stack/local_gateway.ts"
import { newHome, startStack } from "../stack/running_stack.ts"
import { endProcesses, startProcess } from "../support/service_process.ts"

const SIZE = { width: 1000, height: 700 }

const picture = async (browser: Browser, name: string, url: string, prepare: (page: Page) => Promise<unknown>) => {
  const page = await browser.newPage({ viewport: SIZE, colorScheme: "light" })
  await page.goto(url)
  await prepare(page)
  await page.screenshot({ path: join(import.meta.dir, name) })
  await page.close()
}

/** The report of a gateway that is wrong in the ways that real ones have been seen to be. */
const carelessReport = async (): Promise<string> => {
  const stack = await startStack({ gateway: "2.8" })
  const careless = carelessGateway(stack.state.urls.upstream)
  try {
    const proxyUrl = await serveOn(careless)
    const result = await Effect.runPromise(check({ ...stackTarget(stack.state), proxyUrl }))
    return reportPage(result, "leak", new Date())
  } finally {
    careless.closeAllConnections()
    careless.close()
    await stack.stop()
  }
}

const folder = newHome()
const executablePath = process.env["TEST_CHROMIUM"] ?? "/usr/bin/chromium"
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] })
try {
  const demo = startProcess(["demo"], { STORE: "memory" })
  const [, url = ""] = await demo.shows(/API page +(\S+)\n/)
  await picture(browser, "api-page.png", url, (page) => page.locator("#operations-products-list_products").waitFor())
  const report = join(folder, "report.html")
  await Bun.write(report, await carelessReport())
  await picture(browser, "report.png", `file://${report}`, async () => {})
} finally {
  await browser.close()
  await endProcesses()
  rmSync(folder, { recursive: true, force: true })
}
process.exit()
