// The check must see what is wrong: a gateway that does what real ones have been measured to do, and worse.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { createServer as createTlsServer } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { chromium } from "playwright-core"
import Type, { type TSchema } from "typebox"
import Value from "typebox/value"
import type { CheckRow } from "../../stack/check/ask_case.ts"
import { SEVERITIES } from "../../stack/check/check_case.ts"
import { checkTarget, stackTarget } from "../../stack/check/check_target.ts"
import { junitXml } from "../../stack/check/junit_xml.ts"
import { rankOf } from "../../stack/check/reasons.ts"
import { reportPage } from "../../stack/check/report_page.ts"
import { resultText } from "../../stack/check/result_text.ts"
import { type CheckResult, check } from "../../stack/check/run_check.ts"
import { sarifLog } from "../../stack/check/sarif_log.ts"
import { COUNT_WORD, echoServer } from "../../stack/upstream/echo_server.ts"
import { CHROMIUM, realSuite } from "../support/real_servers.ts"
import { carelessGateway } from "./careless_gateway.ts"
import { stackCheck } from "./check_command.ts"
import { serveOn } from "./local_gateway.ts"
import { type RunningStack, STACK_TEST_MS, startStack } from "./running_stack.ts"

/** The last line of a refusal: what to type next. */
const NEXT = "Try: portolan stack check --help\n"

const folder = mkdtempSync(join(tmpdir(), "portolan-check-"))
const file = (name: string, text: string, mode = 0o600): string => {
  const path = join(folder, name)
  writeFileSync(path, text, { mode })
  return path
}

const AT = new Date("2026-01-02T03:04:05Z")
let stack: RunningStack
let careless: string
let result: CheckResult
let tokens: string

beforeAll(async () => {
  stack = await startStack({ gateway: "2.8" })
  careless = await serveOn(carelessGateway(stack.state.urls.upstream))
  const target = { ...stackTarget(stack.state), proxyUrl: careless }
  result = await Effect.runPromise(
    check(target, {
      tokens: (assignments) => {
        tokens = assignments
      },
    }),
  )
}, STACK_TEST_MS)

afterAll(async () => {
  await stack.stop()
  rmSync(folder, { recursive: true, force: true })
}, STACK_TEST_MS)

const rowOf = (name: string): CheckRow => {
  const row = result.rows.find((each) => each.name === name)
  if (row === undefined) throw new Error(`there is no row ${name}`)
  return row
}

describe("a careless gateway is seen through", () => {
  for (const [name, severity] of [
    ["/open/allowed/../secret", "hole"],
    ["/open/allowed/%2e%2e/secret", "hole"],
    ["/open/allowedx", "hole"],
    ["ID token on /jwt", "hole"],
    ["expired an hour ago on /jwt", "hole"],
    ["issuer of an attacker around ours on /jwt", "hole"],
    ["alg none on /jwt", "hole"],
    ["two Host headers", "hole"],
    ["identity headers of the client on /open", "leak"],
    ["the client's Host as X-Forwarded-Host on /open", "leak"],
    ['the upstream sets the cookie "portolan_session =x"', "leak"],
    ['the upstream sets the cookie "=portolan_session=x"', "leak"],
    ["expired a second ago on /jwt", "wrong answer"],
    ["/open/allowed;x=1", "wrong answer"],
    ["none on /jwt", "wrong answer"],
    ["/open/%61llowed", "stricter than ours"],
    ["/open/allowed", undefined],
    ["/open/secret", undefined],
    ["access token on /jwt", undefined],
    ["two Accept lines on /open", undefined],
    ["a Latin-1 header on /open", undefined],
    ["header of 1 MB", undefined],
  ] as const)
    test(`${name}: ${severity ?? "as expected"}`, () => {
      const { severity: found, outcome, note } = rowOf(name)
      expect({ found, outcome, note }).toEqual({
        found: severity,
        outcome: severity === undefined ? "as expected" : "different",
        note: severity === undefined ? undefined : expect.any(String),
      })
    })

  test("the gravest come first, each with its reason, its source and a line; and no token anywhere", () => {
    const gravity = result.rows.map(({ severity, reason }) =>
      severity === undefined ? 9000 : SEVERITIES.indexOf(severity) * 1000 + rankOf(reason),
    )
    expect(gravity).toEqual(gravity.toSorted((one, other) => one - other))
    expect(result.severities.hole).toBeGreaterThan(40)
    for (const { name, severity, why, source, reproduce } of result.rows)
      if (severity !== undefined)
        expect([name, why, source, reproduce]).toEqual([
          name,
          expect.stringMatching(/^[A-Z].*\.$/),
          expect.stringMatching(/RFC|CVE|CWE|OpenID|expectation/),
          expect.stringMatching(/^curl |\| nc /),
        ])
    expect(JSON.stringify(result)).not.toMatch(/eyJ/)
    expect(tokens).toMatch(/^ALG_NONE_TOKEN='eyJ/m)
    const variables = [...tokens.matchAll(/^(\w+)='/gm)].map(([, name]) => name)
    expect(variables).toContain("ID_ALG_NONE_WITH_A_CAPITAL_TOKEN")
    expect(new Set(variables).size).toBe(variables.length)
  })

  test("the counts are those of the rows", () => {
    const { rows, asExpected, different, notAsked, severities } = result
    expect(asExpected + different + notAsked).toBe(rows.length)
    expect(Object.values(severities).reduce((sum, each) => sum + each, 0)).toBe(different)
    expect(notAsked).toBe(0)
  })

  test(
    "the shown lines show the holes again",
    async () => {
      // `nc` where there is none: curl's telnet sends the same bytes.
      const netcat = join(folder, "nc")
      writeFileSync(netcat, '#!/bin/sh\nexec curl --silent --max-time 5 "telnet://$1:$2"\n')
      chmodSync(netcat, 0o755)
      const variables = file("tokens.sh", tokens)
      const run = async (name: string) => {
        const shell = Bun.spawn(["sh", "-c", `. "$0"; ${rowOf(name).reproduce}`, variables], {
          env: { PATH: `${Bun.which("nc") === null ? `${folder}:` : ""}${process.env["PATH"]}` },
          stdio: ["ignore", "pipe", "ignore"],
        })
        return [name, (await new Response(shell.stdout).text()).split("\r\n")[0]]
      }
      const names = [
        "/open/allowed/../secret",
        "/open/allowed\\..\\secret",
        "/open/allowed#/../secret",
        "alg none on /jwt",
        "kid of 10 kB on /jwt",
        "Basic and Bearer in one header on /jwt",
        "two Host headers",
      ]
      // The careless gateway answers in this process.
      expect(await Promise.all(names.map(run))).toEqual(names.map((name) => [name, "HTTP/1.1 200 OK"]))
    },
    STACK_TEST_MS,
  )
})

describe("the result", () => {
  test("as text: holes and leaks, and the rest as a count; every row with --all", () => {
    const style = { failOn: "leak", all: false, colour: false } as const
    const text = resultText(result, style)
    expect([...text.matchAll(/^(?:HOLE|LEAK|WRONG|STRICTER)/gm)].map(([word]) => word)).toEqual([
      ...Array.from({ length: result.severities.hole }, () => "HOLE"),
      ...Array.from({ length: result.severities.leak }, () => "LEAK"),
    ])
    expect(text.split("\n").at(-1)).toBe(
      `failed: ${result.severities.hole + result.severities.leak} differences (--fail-on leak)`,
    )
    expect(text).not.toContain("\u001b")
    expect(resultText(result, { ...style, colour: true })).toContain("\u001b[1;31mHOLE")
    const all = resultText(result, { ...style, all: true })
    for (const { name } of result.rows) expect(all).toContain(name)
  })

  const matches = (schema: TSchema, value: unknown) => expect([...Value.Errors(schema, value)]).toEqual([])

  test("as SARIF 2.1.0: what its schema requires", () => {
    const text = Type.Object({ text: Type.String({ minLength: 1 }) })
    const rule = Type.Object({ id: Type.String(), shortDescription: text, help: text }, { additionalProperties: false })
    const location = Type.Object({
      physicalLocation: Type.Object({
        artifactLocation: Type.Object({ uri: Type.String({ pattern: "^http://[!-~]+$" }) }),
      }),
    })
    const log = sarifLog(result, "1.0.0")
    const run = Type.Object({
      tool: Type.Object({
        driver: Type.Object({ name: Type.String(), version: Type.String(), rules: Type.Array(rule) }),
      }),
      invocations: Type.Array(Type.Object({ executionSuccessful: Type.Literal(true) })),
      results: Type.Array(
        Type.Object({
          ruleId: Type.String(),
          ruleIndex: Type.Integer({ minimum: 0 }),
          kind: Type.Literal("fail"),
          level: Type.Union([Type.Literal("error"), Type.Literal("warning"), Type.Literal("note")]),
          message: text,
          locations: Type.Array(location, { minItems: 1 }),
          partialFingerprints: Type.Record(Type.String(), Type.String()),
        }),
      ),
    })
    matches(
      Type.Object({ $schema: Type.String(), version: Type.Literal("2.1.0"), runs: Type.Array(run, { minItems: 1 }) }),
      JSON.parse(JSON.stringify(log)),
    )
    const [{ results, tool }] = log.runs as [(typeof log.runs)[number]]
    expect(results).toHaveLength(result.different)
    for (const { ruleId, ruleIndex } of results) expect(tool.driver.rules[ruleIndex]?.id).toBe(ruleId)
    expect(new Set(tool.driver.rules.map(({ id }) => id)).size).toBe(tool.driver.rules.length)
    expect(JSON.stringify(log)).not.toMatch(/eyJ/)
  })

  test("as JUnit XML: what its schemas require", async () => {
    const xml = junitXml(result, "leak", AT)
    const found = new Map<string, Array<Map<string, string>>>()
    // A parser that is there: it fails on nothing, so what it found is compared with what there is to find.
    await new HTMLRewriter()
      .on("*", {
        element: (element) => {
          found.set(element.tagName, [
            ...(found.get(element.tagName) ?? []),
            new Map([...element.attributes].map(([name = "", value = ""]) => [name, value] as const)),
          ])
        },
      })
      .transform(new Response(xml))
      .text()
    const suites = found.get("testsuite") ?? []
    const cases = found.get("testcase") ?? []
    const failures = found.get("failure") ?? []
    expect(suites.map((suite) => suite.get("id"))).toEqual(suites.map((_, at) => String(at)))
    for (const suite of suites) {
      for (const name of ["name", "package", "hostname", "tests", "failures", "errors", "time"])
        expect(suite.get(name)).toMatch(/\S/)
      expect(suite.get("timestamp")).toBe("2026-01-02T03:04:05")
    }
    expect(cases).toHaveLength(result.rows.length)
    for (const one of cases) for (const name of ["name", "classname", "time"]) expect(one.get(name)).toMatch(/\S/)
    expect(failures).toHaveLength(result.severities.hole + result.severities.leak)
    for (const one of failures) for (const name of ["message", "type"]) expect(one.get(name)).toMatch(/\S/)
    const sum = (name: string) => suites.reduce((total, suite) => total + Number(suite.get(name)), 0)
    expect([sum("tests"), sum("failures")]).toEqual([cases.length, failures.length])
    for (const name of ["properties", "system-out", "system-err"]) expect(found.get(name)).toHaveLength(suites.length)
    // Nothing is left that only HTML forgives.
    expect(xml.replace(/&#\d+;/g, "")).not.toMatch(/&|[^\t\n\r -\ud7ff\ue000-\ufffd]/)
    expect(xml).not.toMatch(/eyJ/)
  })
})

/** The lowest contrast of any text on the page to what is behind it (WCAG 2.2, 1.4.3); a script, for the page has a DOM. */
const LOWEST_CONTRAST = `(() => {
  const parts = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number)
  const luminance = (colour) => {
    const [r, g, b] = parts(colour).map((value) => {
      const share = value / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const behind = (element) => {
    if (element === null) return "rgb(255, 255, 255)"
    const { backgroundColor } = getComputedStyle(element)
    return parts(backgroundColor)[3] === 0 ? behind(element.parentElement) : backgroundColor
  }
  const withText = [...document.querySelectorAll("body *")].filter((element) =>
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== ""),
  )
  const contrasts = withText.map((element) => {
    const [one, other] = [luminance(getComputedStyle(element).color), luminance(behind(element))]
    return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
  })
  return { lowest: Math.min(...contrasts), texts: contrasts.length }
})()`

realSuite(CHROMIUM, "the report in a browser", ({ executablePath }) => {
  test(
    "can be read in light and dark, needs no scrolling sideways and asks nobody for anything",
    async () => {
      const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] })
      const page = await browser.newPage({ viewport: { width: 1000, height: 800 } })
      const asked: Array<string> = []
      page.on("request", (request) => asked.push(request.url()))
      const address = `file://${file("report.html", reportPage(result, "leak", AT))}`
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme })
        await page.goto(address)
        const { lowest, texts } = await page.evaluate<{ lowest: number; texts: number }>(LOWEST_CONTRAST)
        expect(texts).toBeGreaterThan(500)
        expect(lowest).toBeGreaterThanOrEqual(4.5)
        const wide = await page.evaluate<number>("document.documentElement.scrollWidth - window.innerWidth")
        expect(wide).toBeLessThanOrEqual(0)
        const folderOfShots = process.env["TEST_SCREENSHOTS"]
        if (folderOfShots) await page.screenshot({ path: join(folderOfShots, `report-${colorScheme}.png`) })
      }
      await browser.close()
      expect(asked).toEqual([address, address])
    },
    STACK_TEST_MS,
  )
})

describe("from the command line", () => {
  test(
    "one option for each path, a token by a command, and the files that were asked for",
    async () => {
      const { secrets } = stack.state
      const access = tokens.match(/^ACCESS_TOKEN='(.*)'$/m)?.[1] ?? ""
      const token = file("token", `${access}\n`)
      const [report, junit, sarif, variables] = ["r.html", "r.xml", "r.sarif", "r.sh"].map((name) => join(folder, name))
      const words = ["--proxy-url", careless, "--open", "/open/allowed", "--secret", "/open/secret", "--jwt", "/jwt/x"]
      const files = [report, junit, sarif, variables].flatMap((path, at) => [
        ["--report", "--junit", "--sarif", "--tokens-to"][at] ?? "",
        String(path),
      ])
      const ran = await stackCheck([...words, ...files, "--token-command", `cat '${token}'`, "--json"])
      const found = JSON.parse(ran.out) as CheckResult
      expect([ran.code, ran.err]).toEqual([1, ""])
      expect(found.target.routes).toEqual(["/open/allowed", "/open/secret", "/jwt/x"])
      expect(found.target.upstream).toBe("an answer that echoes is the upstream's")
      expect(found.rows[0]).toMatchObject({ severity: "hole", name: "alg none on /jwt/x" })
      // Without the realm's key, well-signed wrong tokens cannot be made.
      expect(found.rows.find(({ name }) => name === "no exp on /jwt/x")?.outcome).toBe("not asked")
      expect(found.rows.some(({ name, request }) => /\/(oidc|api)/.test(name + request))).toBe(false)
      expect(statSync(String(variables)).mode & 0o777).toBe(0o600)
      const page = readFileSync(String(report), "utf8")
      expect(page).toContain(`<b>${found.severities.hole}</b>`)
      expect(page).not.toMatch(/https?:\/\/(?!127\.0\.0\.1|evil\.example)|<script|<link/)
      for (const path of [report, junit, sarif]) {
        const written = readFileSync(String(path), "utf8")
        expect(written).not.toMatch(/eyJ/)
        expect(written).not.toContain(secrets.userPassword)
      }
    },
    STACK_TEST_MS,
  )

  test(
    "--fail-on decides, a terminal shows colour and progress, and a marker tells whose answer it is",
    async () => {
      const routes = file("routes.json", JSON.stringify({ open: "/open/allowed" }))
      const words = ["--proxy-url", careless, "--routes", routes, "--marker", '"path":', "--fail-on"]
      const [mild, strict] = [await stackCheck([...words, "hole"], true), await stackCheck([...words, "wrong"])]
      // This gateway has holes, so both fail.
      expect([mild.code, strict.code]).toEqual([1, 1])
      expect(mild.err).toMatch(/\r\S*stack check: 1 of (\d+).*stack check: \1 of \1/s)
      expect(mild.out).toContain("\u001b[1;31mHOLE")
      expect(mild.out).toContain("an answer with the marker is the upstream's")
      expect(strict.err).toBe("")
      expect(strict.out).toContain("(--fail-on wrong)")
      expect((await stackCheck([...words.slice(0, 4), "--marker", "no such text"])).err).toMatch(
        /does not hold the marker/,
      )
    },
    STACK_TEST_MS,
  )

  test("a gateway without holes passes by --fail-on hole and fails by leak", async () => {
    const leaky = createServer((request, response) => {
      const isOpen = request.url === "/a"
      const hosts = request.rawHeaders.filter((name) => name.toLowerCase() === "host")
      response.statusCode = hosts.length > 1 ? 400 : isOpen ? 200 : 403
      const echo = { path: request.url, headers: Object.entries(request.headers), method: request.method }
      response.end(response.statusCode === 200 ? JSON.stringify(echo) : "refused")
    })
    const words = ["--proxy-url", await serveOn(leaky), "--open", "/a", "--secret", "/b", "--json"]
    const ran = await Promise.all(["hole", "leak"].map((failOn) => stackCheck([...words, "--fail-on", failOn])))
    leaky.close()
    const { severities, rows } = JSON.parse(String(ran[0]?.out)) as CheckResult
    expect([severities.hole, rows[0]?.severity]).toEqual([0, "leak"])
    expect(ran.map(({ code }) => code)).toEqual([0, 1])
  })

  test("an upstream that does not echo: what it received is not asked, and counts as nothing held", async () => {
    const plain = createServer((request, response) => {
      response.statusCode = request.url === "/a" ? 200 : 403
      response.end(response.statusCode === 200 ? "welcome to the shop" : "refused")
    })
    const words = [
      "--proxy-url",
      await serveOn(plain),
      "--open",
      "/a",
      "--secret",
      "/b",
      "--marker",
      "the shop",
      "--json",
    ]
    const { out } = await stackCheck(words)
    plain.close()
    const { rows, severities } = JSON.parse(out) as CheckResult
    expect(rows.find(({ name }) => name === "identity headers of the client on /a")).toMatchObject({
      outcome: "not asked",
      note: "the upstream does not tell what it received",
    })
    expect(rows.filter(({ group, outcome }) => group === "identity" && outcome === "as expected")).toEqual([])
    expect(severities.leak).toBe(0)
  })

  test("a counter that is behind another gateway is refused", async () => {
    const upstream = echoServer(COUNT_WORD)
    const ran = await stackCheck([
      "--proxy-url",
      careless,
      "--open",
      "/open/allowed",
      "--upstream",
      await serveOn(upstream),
    ])
    upstream.close()
    expect([ran.code, ran.out]).toEqual([2, ""])
    expect(ran.err).toBe(`${careless}/open/allowed was answered, but not by the upstream that counts\n${NEXT}`)
  })

  test(
    "https by an address: refused until its authority, or anybody, is believed",
    async () => {
      const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")]
      const made = Bun.spawnSync([
        ...["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=gateway"],
        ...["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
      ])
      expect(made.exitCode).toBe(0)
      const secure = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_request, response) => {
        response.writeHead(403).end()
      })
      const url = (await serveOn(secure)).replace("http:", "https:")
      const words = ["--proxy-url", url, "--secret", "/a/b"]
      const ran = await Promise.all([[], ["--ca", cert], ["--insecure"]].map((more) => stackCheck([...words, ...more])))
      secure.close()
      expect(ran.map(({ code }) => code)).toEqual([2, 0, 0])
      expect(ran[0]?.err).toMatch(new RegExp(`^nothing can be asked at ${url}: \\w+\\n${NEXT}$`))
      expect(ran[1]?.out).toContain("0 holes")
    },
    STACK_TEST_MS,
  )
})

describe("one line and the line to type next, exit code 2, nothing counted as held:", () => {
  const nobody = "http://127.0.0.1:1"
  const cases: ReadonlyArray<readonly [words: ReadonlyArray<string>, line: RegExp]> = [
    [["--proxy-url", nobody], /^nothing can be asked at http:\/\/127\.0\.0\.1:1: ECONNREFUSED\n$/],
    [["--proxy-url", nobody, "--routes", file("no.json", "{")], /--routes names a file that is no JSON\n$/],
    [["--proxy-url", nobody, "--routes", "/nowhere"], /--routes names no file that can be read\n$/],
    [["--proxy-url", nobody, "--routes", file("role.json", '{"opne":"/a"}')], /\/opne is no role; roles are open, /],
    [["--proxy-url", nobody, "--routes", file("empty.json", "{}")], /must name at least one route\n$/],
    [["--proxy-url", nobody, "--routes", file("list.json", "[]")], /--routes must hold one JSON object\n$/],
    [["--proxy-url", nobody, "--open", "/a/../b"], /\/open must be a path such as/],
    [
      ["--proxy-url", nobody, "--token-command", "echo secret-word >&2; exit 3"],
      /--token-command ended with code 3\n$/,
    ],
    [["--proxy-url", nobody, "--token-command", "echo a secret-word"], /gives neither a token nor JSON/],
    [["--proxy-url", nobody, "--token-file", "/nowhere"], /--token-file names no file that can be read\n$/],
    [["--proxy-url", nobody, "--idp-url", "http://i"], /belong together/],
    [["--proxy-url", nobody, "--idp-url", "http://i", "--secrets", "/nowhere"], /--secrets names no file/],
    [["--proxy-url", nobody, "--upstream", nobody], /--upstream: http:\/\/127\.0\.0\.1:1: /],
    [["--proxy-url", nobody, "--report", "/nowhere/page.html"], /^--report must name a file in a folder that can be/],
    [["--proxy-url", "localhost:8000"], /must be an origin/],
    [["--idp-url", nobody], /need --proxy-url/],
    [["--insecure"], /need --proxy-url/],
  ]
  for (const [words, line] of cases)
    test(words.map((word) => word.replace(folder, "")).join(" "), async () => {
      const { code, out, err } = await stackCheck(words)
      expect([code, out]).toEqual([2, ""])
      const [said, next] = err.split(/(?=Try: )/)
      expect(said).toMatch(line)
      expect(said?.trimEnd().split("\n")).toHaveLength(1)
      expect(next).toBe(NEXT)
      expect(err).not.toContain("secret-word")
    })

  test("a provider that gives no token is named with its address", async () => {
    const secrets = {
      webClient: "",
      webSecret: "",
      userName: "",
      userPassword: "",
      serviceClient: "",
      serviceSecret: "",
    }
    const words = ["--proxy-url", careless, "--idp-url", nobody, "--secrets", file("s.json", JSON.stringify(secrets))]
    const { code, out, err } = await stackCheck(words)
    expect([code, out]).toEqual([2, ""])
    expect(err).toMatch(
      /^no tokens from http:\/\/127\.0\.0\.1:1\/realms\/demo\/protocol\/openid-connect\/token: \w+\nTry: portolan stack check --help\n$/,
    )
  })

  test("something that answers, and speaks no HTTP", async () => {
    const silent = createServer()
    silent.on("connection", (socket) => socket.destroy())
    const { code, err } = await stackCheck(["--proxy-url", await serveOn(silent), "--open", "/a"])
    silent.close()
    expect(code).toBe(2)
    expect(err).toMatch(/^nothing that speaks HTTP answers at /)
  })

  test("no stack runs: exit code 3", async () => {
    const refused = await Effect.runPromise(Effect.flip(checkTarget(folder, {})))
    expect(refused).toMatchObject({ _tag: "StackNotRunning", exitCode: 3 })
  })
})
