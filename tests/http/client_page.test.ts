// The client in a real browser, on a page of another origin: what the service lets it send and read.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { join } from "node:path"
import { type Browser, chromium } from "playwright-core"
import { defineCollection } from "../../domain/records/collection.ts"
import { products } from "../../domain/records/products.ts"
import { CHROMIUM, realSuite } from "../support/real_servers.ts"
import { startService } from "../support/test_service.ts"

/** Runs on the page; what it comes to is written into the title. */
const scriptFor = (url: string, token: string) => `
import { createClient } from "/client.mjs"
const client = createClient(${JSON.stringify({ url, token })})
const ending = new AbortController()
const told = []
try {
  await client.list()
  for await (const { kind } of client.changes({ signal: ending.signal })) {
    if (kind === "start") {
      for (let at = 0; at < 30; at++) await client.create({ name: "of a page, with a name that is long enough " + at })
      const { records, total, more } = await client.list({ limit: 25, count: true })
      const refused = await client.get(999).catch(({ code, requestId }) => [code, typeof requestId])
      told.push(records.length, total, more, ...refused)
    } else if (told.push(kind) === 35) ending.abort()
  }
  document.title = told.join()
} catch (failure) {
  document.title = "failed: " + failure
}`

realSuite(CHROMIUM, "the client on a page", ({ executablePath }) => {
  let browser: Browser
  let client = ""

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] })
    const entry = join(import.meta.dir, "../../bootstrap/client.ts")
    const built = await Bun.build({ entrypoints: [entry], target: "browser" })
    client = (await built.outputs[0]?.text()) ?? ""
  })

  afterAll(() => browser?.close())

  /** What the script of a page came to. The service lets the page's own origin in, or another one. */
  const outcome = async (allowed: boolean): Promise<string> => {
    let script = ""
    const answer = (text: string, type: string) => new Response(text, { headers: { "content-type": type } })
    const site = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url }) =>
        url.endsWith("/client.mjs")
          ? answer(client, "text/javascript")
          : answer(`<!doctype html><script type="module">${script}</script>`, "text/html"),
    })
    const service = await startService({
      collections: [defineCollection({ ...products, changes: true })],
      corsOrigins: [allowed ? site.url.origin : "https://app.example.com"],
    })
    script = scriptFor(`${service.url}/api/products`, service.token("user"))
    const page = await browser.newPage()
    try {
      await page.goto(site.url.href)
      await page.waitForFunction("document.title !== ''", undefined, { timeout: 60_000 })
      return await page.title()
    } finally {
      await page.close()
      await service.stop()
      await site.stop(true)
    }
  }

  test("of an allowed origin sends tokens and bodies, and reads answers, headers, refusals and changes", async () => {
    expect(await outcome(true)).toBe(["25,30,true,RECORD_NOT_FOUND,string", ...Array(30).fill("create")].join())
  }, 120_000)

  test("of any other origin reads nothing", async () => {
    expect(await outcome(false)).toMatch(/^failed: TypeError/)
  }, 120_000)
})
