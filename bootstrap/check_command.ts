import { accessSync, chmodSync, constants, statSync, writeFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { Effect } from "effect"
import { type Arguments, type Command, WrongUsage } from "../adapters/driving/cli/command.ts"
import { checkTarget } from "../stack/check/check_target.ts"
import { ROLES } from "../stack/check/checked_gateway.ts"
import { FAIL_ON, type FailOn, failuresIn } from "../stack/check/fail_on.ts"
import { junitXml } from "../stack/check/junit_xml.ts"
import { reportPage } from "../stack/check/report_page.ts"
import { resultText } from "../stack/check/result_text.ts"
import { type CheckResult, check } from "../stack/check/run_check.ts"
import { sarifLog } from "../stack/check/sarif_log.ts"
import { StackFailed } from "../stack/errors.ts"
import { COUNT_WORD, echoServer } from "../stack/upstream/echo_server.ts"
import { readEnvironment } from "./config.ts"
import { VERSION } from "./version.ts"

interface Option {
  readonly help: string
  readonly flag?: true
}

/** The options that say which gateway is asked, and with what. */
const TARGET_OPTIONS = {
  "proxy-url": { help: "another gateway than the running stack's: http:// or https:// with a name or an address" },
  routes: { help: "JSON file that maps roles to that gateway's own paths; without any role the stack's own are asked" },
  "session-cookie": { help: "name of its session cookie, which the upstream must not be able to set" },
  "jwt-roles": { help: "realm roles that the jwt path asks for, any one of them, as a comma list" },
  gateway: { help: "which of the stack's routes it has, when no role is mapped; as with `stack up`" },
  variant: { help: "as with `stack up`" },
  "token-command": { help: "command for a shell that prints an access token, or a token endpoint's whole JSON" },
  "token-file": { help: "file that holds the same" },
  "idp-url": { help: "its identity provider, Keycloak's paths; needs --secrets" },
  realm: { help: "realm there; demo when absent" },
  secrets: {
    help: "JSON file: webClient, webSecret, userName, userPassword, serviceClient, serviceSecret, signingKey?",
  },
  upstream: { help: "origin of a `stack upstream` behind that gateway, whose counter says what reached it" },
  marker: { help: "text that is in every answer of your own upstream, and in none of the gateway's" },
  ca: { help: "PEM file of the authority that signed the gateway's certificate" },
  insecure: { help: "believe any certificate", flag: true },
} as const satisfies Readonly<Record<string, Option>>

/** The options that say how the result is shown. */
const RESULT_OPTIONS = {
  "fail-on": { help: `${Object.keys(FAIL_ON).join(" | ")}: the mildest difference that fails; leak when absent` },
  all: { help: "show every row", flag: true },
  junit: { help: "file for the result as JUnit XML" },
  sarif: { help: "file for the differences as SARIF 2.1.0" },
  report: { help: "file for the result as one HTML page" },
  "tokens-to": { help: "file, readable by you alone, for the tokens as shell variables; the shown lines take them from there" },
} as const satisfies Readonly<Record<string, Option>>

const ROLE_OPTIONS = Object.fromEntries(
  Object.entries(ROLES).map(([role, meaning]): [string, Option] => [role, { help: meaning }]),
)

const OPTIONS: Readonly<Record<string, Option>> = { ...TARGET_OPTIONS, ...ROLE_OPTIONS, ...RESULT_OPTIONS }

const WIDTH = Math.max(...Object.keys(OPTIONS).map((name) => name.length)) + 4

const helpOf = (options: Readonly<Record<string, Option>>): ReadonlyArray<string> =>
  Object.entries(options).map(([name, { help }]) => `--${name}`.padEnd(WIDTH) + help)

const DETAILS: ReadonlyArray<string> = [
  "Without options the running stack is asked. Differences are",
  "  hole                a refusal was expected and the upstream was reached",
  "  leak                a header or a cookie arrived that must not",
  "  wrong answer        answered otherwise, and nothing was let through",
  "  stricter than ours  refused where our own gateway lets the request through",
  "Exit code: 0 passed, 1 failed by --fail-on, 2 nothing could be asked, 3 no stack runs.",
  "",
  ...helpOf(TARGET_OPTIONS),
  "",
  "A gateway's own paths, as an option each or by these names in --routes; what is not mapped is not asked:",
  ...helpOf(ROLE_OPTIONS),
  "",
  "What reached the upstream is known, the surest way first:",
  "  1. put your gateway before `portolan stack upstream` and name that by --upstream. It counts every request, also one",
  "     behind a refusal, and says which headers it received.",
  "  2. keep your own upstream and name a text that only its answers hold by --marker. A request that is forwarded and",
  "     refused all the same is not seen, and rows about headers are not asked.",
  "  3. neither: every 2xx counts as reached.",
  "Either way the first request must show that this upstream is the one that answers; otherwise nothing is asked.",
  "",
  ...helpOf(RESULT_OPTIONS),
]

type Given = Arguments["options"]

const text = (options: Given, name: string): string | undefined => {
  const value = options[name]
  return typeof value === "string" ? value : undefined
}

const isFailOn = (word: string): word is FailOn => Object.hasOwn(FAIL_ON, word)

/** Refuses a file that could not be written, before anything is asked. */
const writable = (options: Given, name: string): Effect.Effect<string | undefined, WrongUsage> =>
  Effect.suspend(() => {
    const path = text(options, name)
    if (path === undefined) return Effect.succeed(path)
    try {
      accessSync(dirname(resolve(path)), constants.W_OK)
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return Effect.succeed(path)
    } catch {
      // The rule below says it for both.
    }
    return Effect.fail(new WrongUsage({ rule: `--${name} must name a file in a folder that can be written to` }))
  })

const write = (path: string | undefined, content: () => string, mode = 0o644): Effect.Effect<void, StackFailed> =>
  path === undefined
    ? Effect.void
    : Effect.try({
        try: () => {
          writeFileSync(path, content(), { mode })
          if (mode !== 0o644) chmodSync(path, mode)
        },
        catch: () => new StackFailed({ part: "check", reason: `${path} cannot be written`, log: [] }),
      })

const CLEAR_LINE = "\r\u001b[2K"

const files = Effect.fnUntraced(function* (options: Given, result: CheckResult, failOn: FailOn) {
  const at = new Date()
  yield* write(text(options, "report"), () => reportPage(result, failOn, at))
  yield* write(text(options, "junit"), () => junitXml(result, failOn, at))
  yield* write(text(options, "sarif"), () => `${JSON.stringify(sarifLog(result, VERSION), undefined, 2)}\n`)
})

/** `portolan stack check` (contract section 7). */
export const checkCommand: Command = {
  path: ["stack", "check"],
  summary: "Asks a gateway everything it should refuse, and shows what it lets through",
  positionals: [],
  options: Object.fromEntries(
    Object.entries(OPTIONS).map(([name, { flag }]) => [name, { type: flag ? "boolean" : "string" } as const]),
  ),
  details: DETAILS,
  ongoing: true,
  run: Effect.fnUntraced(function* ({ options, terminal, json }) {
    const failOn = text(options, "fail-on") ?? "leak"
    if (!isFailOn(failOn))
      return yield* new WrongUsage({ rule: `--fail-on must be one of ${Object.keys(FAIL_ON).join(", ")}` })
    for (const name of ["report", "junit", "sarif", "tokens-to"]) yield* writable(options, name)
    const roles = [...Object.keys(ROLES), "session-cookie"].flatMap((role) => {
      const path = text(options, role)
      return path === undefined ? [] : [[role, path] as const]
    })
    const home = resolve((yield* readEnvironment).PORTOLAN_HOME)
    const target = yield* checkTarget(home, {
      proxyUrl: text(options, "proxy-url"),
      routes: text(options, "routes"),
      mapped: Object.fromEntries(roles),
      idpUrl: text(options, "idp-url"),
      realm: text(options, "realm"),
      gateway: text(options, "gateway"),
      variant: text(options, "variant"),
      jwtRoles: text(options, "jwt-roles"),
      secrets: text(options, "secrets"),
      tokenCommand: text(options, "token-command"),
      tokenFile: text(options, "token-file"),
      upstream: text(options, "upstream"),
      marker: text(options, "marker"),
      ca: text(options, "ca"),
      insecure: options["insecure"] === true,
    })
    let tokens = ""
    const result = yield* check(target, {
      ...(terminal.interactive
        ? { progress: (done, total) => terminal.err(`${CLEAR_LINE}stack check: ${done} of ${total}`) }
        : {}),
      tokens: (assignments) => {
        tokens = assignments
      },
    }).pipe(Effect.ensuring(Effect.sync(() => terminal.interactive && terminal.err(CLEAR_LINE))))
    yield* write(text(options, "tokens-to"), () => tokens, 0o600)
    yield* files(options, result, failOn)
    const style = { failOn, all: options["all"] === true, colour: terminal.coloured === true && !json }
    return {
      json: { ...result, failOn, failed: failuresIn(result, failOn) > 0 },
      text: resultText(result, style),
      exitCode: failuresIn(result, failOn) > 0 ? 1 : 0,
    }
  }),
}

const HOST = /^[\w.:-]{1,253}$/

/** `portolan stack upstream`: an upstream to put behind any gateway while that is checked. */
export const upstreamCommand: Command = {
  path: ["stack", "upstream"],
  summary: "Runs an upstream that echoes and counts, for a check of your own gateway; until interrupted",
  positionals: [],
  options: { port: { type: "string" }, host: { type: "string" } },
  details: [
    "--port  8900 when absent; 0 takes a free one",
    "--host  address to listen on; 127.0.0.1 when absent. What it is sent, it shows to whoever asks: keep it to yourself",
    "",
    "Let your gateway forward to it, then: portolan stack check --proxy-url <gateway> --upstream <this> --open /a ...",
  ],
  ongoing: true,
  run: Effect.fnUntraced(function* ({ options, terminal, json }) {
    const [port, host] = [text(options, "port") ?? "8900", text(options, "host") ?? "127.0.0.1"]
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
      return yield* new WrongUsage({ rule: "--port must be a port from 0 to 65535" })
    if (!HOST.test(host)) return yield* new WrongUsage({ rule: "--host must be an address or a name" })
    const server = echoServer(COUNT_WORD)
    const at = yield* Effect.callback<number, WrongUsage>((resume) => {
      server.once("error", () =>
        resume(Effect.fail(new WrongUsage({ rule: "this address and port cannot be listened on" }))),
      )
      server.listen(Number(port), host, () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : Number(port)))
      })
    })
    const url = `http://${host.includes(":") ? `[${host}]` : host}:${at}`
    terminal.out(json ? `${JSON.stringify({ url })}\n` : `upstream  ${url}\n`)
    return yield* Effect.never
  }),
}
