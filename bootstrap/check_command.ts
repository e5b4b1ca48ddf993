import { accessSync, chmodSync, constants, statSync, writeFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { Effect } from "effect"
import { type Command, Flag } from "effect/cli"
import { type Manner, optional, optionalText, toggle, WrongUsage } from "../adapters/driving/cli/command.ts"
import { LINES, VARIANTS } from "../domain/gateway/route_profile.ts"
import { ROLES } from "../stack/check/checked_gateway.ts"
import { FAIL_ON, type FailOn, failuresIn } from "../stack/check/fail_on.ts"
import type { CheckResult } from "../stack/check/run_check.ts"
import { StackFailed } from "../stack/errors.ts"

/** Which gateway is asked, and with what. */
const TARGET = {
  proxyUrl: optionalText("proxy-url", "another gateway than the running stack's: http or https, a name or an address"),
  routes: optionalText("routes", "JSON file that maps roles to that gateway's own paths; without one, the stack's own"),
  sessionCookie: optionalText("session-cookie", "its session cookie, which the upstream must not be able to set"),
  jwtRoles: optionalText("jwt-roles", "realm roles that the jwt path asks for, any one of them, with commas between"),
  gateway: optional(Flag.Literals("gateway", LINES), "which of the stack's routes it has when no role is mapped"),
  variant: optional(Flag.Literals("variant", VARIANTS), "as with `stack up`"),
  tokenCommand: optionalText("token-command", "prints an access token, or a token endpoint's whole JSON, for a shell"),
  tokenFile: optionalText("token-file", "file that holds the same"),
  idpUrl: optionalText("idp-url", "its identity provider, with Keycloak's paths; needs --secrets"),
  realm: optionalText("realm", "realm there; demo when omitted"),
  secrets: optionalText(
    "secrets",
    "JSON file: webClient, webSecret, userName, userPassword, serviceClient, serviceSecret, signingKey?",
  ),
  upstream: optionalText(
    "upstream",
    "origin of a `stack upstream` behind the gateway; its counter says what reached it",
  ),
  marker: optionalText("marker", "text that is in every answer of your own upstream, and in none of the gateway's"),
  ca: optionalText("ca", "PEM file of the authority that signed the gateway's certificate"),
  insecure: toggle("insecure", "believe any certificate"),
}

/** The gateway's own paths by role; what is not mapped is not asked. */
const PATHS = {
  open: optionalText("open", ROLES.open),
  secret: optionalText("secret", ROLES.secret),
  jwt: optionalText("jwt", ROLES.jwt),
  oidc: optionalText("oidc", ROLES.oidc),
  api: optionalText("api", ROLES.api),
  apiAccess: optionalText("api-access", ROLES["api-access"]),
}

/** How the result is shown. */
const RESULT = {
  failOn: Flag.Literals("fail-on", Object.keys(FAIL_ON) as ReadonlyArray<FailOn>).pipe(
    Flag.withDescription("the mildest difference that fails"),
    Flag.withDefault("leak" as const),
  ),
  all: toggle("all", "show every row"),
  junit: optionalText("junit", "file for the result as JUnit XML"),
  sarif: optionalText("sarif", "file for the differences as SARIF 2.1.0"),
  report: optionalText("report", "file for the result as one HTML page"),
  tokensTo: optionalText("tokens-to", "file for the tokens as shell variables, which the shown lines use; yours alone"),
}

/** What `--help` says beside the options. */
export const CHECK_DETAILS: ReadonlyArray<string> = [
  "",
  "Without options the running stack is asked. A difference is",
  "  a hole              a refusal was expected and the upstream was reached,",
  "  a leak              a header or a cookie arrived that must not,",
  "  a wrong answer      answered otherwise, and nothing was let through, or",
  "  stricter than ours  refused where our own gateway lets the request through.",
  "Exit code: 0 passed, 1 failed by --fail-on, 2 nothing could be asked, 3 no stack runs.",
  "",
  "Of another gateway, name the paths you want asked: --open --secret --jwt --oidc --api --api-access, or the same names",
  "in the file of --routes. What is not named is not asked.",
  "",
  "What reached the upstream is known, the surest way first:",
  "  1. Put your gateway before `portolan stack upstream` and name that by --upstream. It counts every request, also one",
  "     behind a refusal, and says which headers it received.",
  "  2. Keep your own upstream and name a text that only its answers hold by --marker. A request that is forwarded and",
  "     refused all the same is not seen then, and rows about headers are not asked.",
  "  3. With neither, every 2xx counts as reached.",
  "The first request must show that this upstream is the one that answers; otherwise nothing is asked.",
]

/** The options of `stack check`. */
export const CHECK_OPTIONS = { ...TARGET, ...PATHS, ...RESULT }

type Input = Command.Command.Config.Infer<typeof CHECK_OPTIONS>

/** Refuses a file that could not be written, before anything is asked. */
const writable = (name: string, path: string | undefined): Effect.Effect<void, WrongUsage> =>
  Effect.suspend(() => {
    if (path === undefined) return Effect.void
    try {
      accessSync(dirname(resolve(path)), constants.W_OK)
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return Effect.void
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
          // A file that was there already keeps the rights it had.
          if (mode !== 0o644) chmodSync(path, mode)
        },
        catch: () => new StackFailed({ part: "check", reason: `${path} cannot be written`, log: [] }),
      })

interface Files {
  readonly junit: string | undefined
  readonly sarif: string | undefined
  readonly report: string | undefined
}

const writeFiles = Effect.fnUntraced(function* ({ junit, sarif, report }: Files, result: CheckResult, failOn: FailOn) {
  const { junitXml, sarifLog, reportPage, VERSION } = yield* Effect.promise(async () => ({
    ...(await import("../stack/check/junit_xml.ts")),
    ...(await import("../stack/check/sarif_log.ts")),
    ...(await import("../stack/check/report_page.ts")),
    ...(await import("./version.ts")),
  }))
  const at = new Date()
  yield* write(report, () => reportPage(result, failOn, at))
  yield* write(junit, () => junitXml(result, failOn, at))
  yield* write(sarif, () => `${JSON.stringify(sarifLog(result, VERSION), undefined, 2)}\n`)
})

const home = Effect.flatMap(
  Effect.promise(() => import("./config.ts")),
  ({ readEnvironment }) => Effect.map(readEnvironment, ({ PORTOLAN_HOME }) => resolve(PORTOLAN_HOME)),
)

const CLEAR_LINE = "\r\u001b[2K"

const given = (paths: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(paths).flatMap(([role, path]) => (path === undefined ? [] : [[role, path]])))

/** `portolan stack check` (specification 17). */
export const runCheck = Effect.fnUntraced(function* (input: Input, { terminal, json }: Manner) {
  const { open, secret, jwt, oidc, api, apiAccess, sessionCookie, failOn, all, tokensTo, ...words } = input
  const { junit, sarif, report, ...target } = words
  for (const [name, path] of Object.entries({ report, junit, sarif, "tokens-to": tokensTo }))
    yield* writable(name, path)
  const { checkTarget, check, resultText } = yield* Effect.promise(async () => ({
    ...(await import("../stack/check/check_target.ts")),
    ...(await import("../stack/check/run_check.ts")),
    ...(await import("../stack/check/result_text.ts")),
  }))
  const mapped = given({ open, secret, jwt, oidc, api, "api-access": apiAccess, "session-cookie": sessionCookie })
  let tokens = ""
  const result = yield* check(yield* checkTarget(yield* home, { ...target, mapped }), {
    ...(terminal.interactive
      ? { progress: (done, total) => terminal.err(`${CLEAR_LINE}stack check: ${done} of ${total}`) }
      : {}),
    tokens: (assignments) => {
      tokens = assignments
    },
  }).pipe(Effect.ensuring(Effect.sync(() => terminal.interactive && terminal.err(CLEAR_LINE))))
  yield* write(tokensTo, () => tokens, 0o600)
  yield* writeFiles({ junit, sarif, report }, result, failOn)
  const failed = failuresIn(result, failOn) > 0
  return {
    json: { ...result, failOn, failed },
    text: resultText(result, { failOn, all, colour: terminal.coloured === true && !json }),
    exitCode: failed ? 1 : 0,
  }
})
