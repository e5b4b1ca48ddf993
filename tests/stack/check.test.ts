// The check must see what is wrong: a gateway that does what real ones have been measured to do, and worse.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { request as ask, createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { checkTarget, stackTarget } from "../../stack/check/check_target.ts"
import { check } from "../../stack/check/run_check.ts"
import { serveOn } from "./local_gateway.ts"
import { type RunningStack, STACK_TEST_MS, startStack } from "./running_stack.ts"

const ROOT = join(import.meta.dir, "../..")
const folder = mkdtempSync(join(tmpdir(), "portolan-check-"))
let stack: RunningStack
let careless: string

/** Compares the raw path, believes any token that can be read, and lets the client say who it is. */
const carelessGateway = () =>
  createServer((incoming, response) => {
    const raw = incoming.url ?? "/"
    const bearer = incoming.headers.authorization?.includes("eyJ")
    const allowed = raw.startsWith("/open/allowed") || (/^\/(jwt|api)/.test(raw) && bearer)
    if (!allowed) return void response.writeHead(raw.startsWith("/open") ? 403 : 401).end()
    const path = raw.replace(/^\/[\w-]+/, "")
    const out = ask(
      stack.state.urls.upstream + path,
      { headers: incoming.headers, method: incoming.method },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(response)
      },
    )
    out.on("error", () => response.destroy())
    incoming.pipe(out)
  })

beforeAll(async () => {
  stack = await startStack({ gateway: "2.8" })
  careless = await serveOn(carelessGateway())
}, STACK_TEST_MS)
afterAll(async () => {
  await stack.stop()
  rmSync(folder, { recursive: true, force: true })
}, STACK_TEST_MS)

test(
  "a careless gateway is seen through, row by row",
  async () => {
    const { rows, different } = await Effect.runPromise(check({ ...stackTarget(stack.state), proxyUrl: careless }))
    expect(different).toBeGreaterThan(60)
    const outcome = (name: string) => rows.find((row) => row.name === name)?.outcome
    for (const name of [
      "/open/allowed/../secret",
      "/open/allowed/%2e%2e/secret",
      "/open/allowedx",
      "ID token on /jwt",
      "expired an hour ago on /jwt",
      "issuer of an attacker around ours on /jwt",
      "alg none on /jwt",
      "identity headers of the client on /open",
    ])
      expect([name, outcome(name)]).toEqual([name, "different"])
    for (const name of ["/open/allowed", "/open/secret", "access token on /jwt"])
      expect([name, outcome(name)]).toEqual([name, "as expected"])
  },
  STACK_TEST_MS,
)

test(
  "from the command line, a foreign gateway is checked with what is known, and its report holds no token",
  async () => {
    const { secrets, urls } = stack.state
    const [secretsFile, report] = [join(folder, "secrets.json"), join(folder, "report.html")]
    writeFileSync(
      secretsFile,
      JSON.stringify({
        webClient: "portolan-web",
        webSecret: secrets.webClient,
        userName: "alice",
        userPassword: secrets.userPassword,
        serviceClient: "portolan-service",
        serviceSecret: secrets.serviceClient,
      }),
    )
    const words = [
      "--proxy-url",
      careless,
      "--idp-url",
      urls.idp,
      "--secrets",
      secretsFile,
      "--gateway",
      "2.8",
      "--report",
      report,
    ]
    // Not synchronously: the careless gateway answers in this process.
    const ran = Bun.spawn([process.execPath, "bootstrap/main.ts", "stack", "check", ...words, "--json"], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "inherit"],
    })
    const out = await new Response(ran.stdout).text()
    expect(await ran.exited).toBe(1)
    const result = JSON.parse(out) as { different: number; notAsked: number }
    expect(result.different).toBeGreaterThan(40)
    // Without the realm's key, well-signed wrong tokens cannot be made; without another realm, its token cannot.
    expect(result.notAsked).toBeGreaterThan(50)
    const page = readFileSync(report, "utf8")
    expect(page).toContain(`${result.different} different`)
    expect(page).not.toMatch(/eyJ|https?:\/\/(?!127\.0\.0\.1|evil\.example)|<script|<link/)
    expect(page).not.toContain(secrets.userPassword)
  },
  STACK_TEST_MS,
)

for (const [words, reason] of [
  [{ idpUrl: "http://localhost:1" }, "need --proxy-url"],
  [{ proxyUrl: "localhost:8000" }, "must be an origin"],
  [{ proxyUrl: "http://h", idpUrl: "http://i" }, "belong together"],
  [{ proxyUrl: "http://h", gateway: "1" }, "--gateway must be one of"],
  [{ proxyUrl: "http://h", idpUrl: "http://i", secrets: "/nowhere" }, "no JSON file"],
] as const)
  test(`check ${JSON.stringify(words)} is refused`, async () => {
    const refused = await Effect.runPromise(Effect.flip(checkTarget(folder, words)))
    expect(refused.message).toContain(reason)
  })
