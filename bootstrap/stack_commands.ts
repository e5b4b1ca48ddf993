import { resolve } from "node:path"
import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import {
  type CommandGroup,
  command,
  done,
  optional,
  optionalText,
  positive,
  toggle,
  WrongUsage,
} from "../adapters/driving/cli/command.ts"
import { textTable } from "../adapters/driving/cli/text_table.ts"
import { LINES, VARIANTS } from "../domain/gateway/route_profile.ts"
import { DATABASES, ENGINES, readStackOptions } from "../domain/gateway/stack_options.ts"
import { StackNotRunning, StackRefused } from "../stack/errors.ts"
import { isExecutable } from "../stack/program.ts"
import { ENDPOINTS, REALM } from "../stack/realm.ts"
import { readState, SERVICES, type StackState } from "../stack/state.ts"
import { TOKEN_KINDS, tokenSourceOf } from "../stack/token.ts"
import { CHECK_DETAILS, CHECK_OPTIONS, runCheck } from "./check_command.ts"
import type { VariableName } from "./config.ts"

const home = Effect.flatMap(
  Effect.promise(() => import("./config.ts")),
  ({ readEnvironment }) => Effect.map(readEnvironment, ({ PORTOLAN_HOME }) => resolve(PORTOLAN_HOME)),
)

const gatewayLine = optional(Flag.Literals("gateway", LINES), "the gateway's line; 3.9 when omitted")
const variant = optional(Flag.Literals("variant", VARIANTS), "2.8 alone has both, 3.9 always has the variant's plugin")
const jwtRoles = optionalText("jwt-roles", "realm roles /jwt asks for, any one of them, with commas between")

/** How a person who reads this types the next command: a clone has no command on the PATH, and neither has the executable. */
const ownCommand = (): string => (isExecutable() ? process.execPath : "npm run -s portolan --")

const summary = ({ urls, options, secrets }: StackState): string =>
  [
    `gateway   ${urls.proxy}   line ${options.gateway}, ${options.variant}, ${options.engine} engine`,
    `identity  ${urls.idp}/realms/${REALM.name}`,
    `upstream  ${urls.upstream}`,
    `user      ${REALM.user.name}, password ${secrets.userPassword}`,
    "",
    `The stack runs until \`${ownCommand()} stack down\`. Try:`,
    `  curl -i ${urls.proxy}/open/allowed`,
    `  curl -i ${urls.proxy}/open/secret`,
    options.gateway === "2.8"
      ? `  curl -i -H "Authorization: Bearer $(${ownCommand()} stack token)" ${urls.proxy}/jwt/x`
      : `  curl -i -H "Authorization: Bearer $(${ownCommand()} stack token)" ${urls.proxy}/api-access/x`,
    `  and ${urls.proxy}/oidc in a browser`,
  ].join("\n")

/** What of the Docker engine was run, and what was not. */
const DOCKER_RUN = [
  "docker was run on real Kong, not as images, before its Lua guard existed (2026-11-21):",
  "rows of `stack check` as expected on 2.8.5 328 of 337, on 3.9.3 343 of 352; with a",
  "prototype of the guard 332 and 349. The guard itself was run in nginx 1.22, with Kong's",
  "part played. Never run: the images, Cassandra, arm64, TLS and HTTP/2, over two workers.",
]

const up = command("up", {
  summary: "Starts the gateway stack and returns when it refuses what it should",
  config: {
    engine: optional(Flag.Literals("engine", ENGINES), "embedded needs nothing but this program; the default"),
    gateway: gatewayLine,
    variant,
    database: optional(Flag.Literals("database", DATABASES), "docker engine and gateway 2.8 alone"),
    proxyPort: optionalText("proxy-port", "8000 when omitted; 0 takes a free one"),
    idpPort: optionalText("idp-port", "8180 when omitted"),
    upstreamPort: optionalText("upstream-port", "8900 when omitted"),
    jwtRoles,
  },
  details: DOCKER_RUN,
  examples: ["stack up", "stack up --gateway 2.8 --variant variant"],
  ongoing: true,
  run: Effect.fnUntraced(function* (words, { terminal }) {
    const { up } = yield* Effect.promise(() => import("../stack/up.ts"))
    const read = readStackOptions(words)
    if ("mistakes" in read) return yield* new StackRefused({ reasons: read.mistakes })
    if (read.gateway === "3.9" && read.variant === "variant")
      terminal.err("note: every 3.9 gateway has the variant's plugin; --variant changes nothing\n")
    const state = yield* up(yield* home, read, (line) => terminal.err(`${line}\n`))
    const { urls, options, secrets } = state
    return done(
      { ...urls, realm: REALM.name, user: REALM.user.name, password: secrets.userPassword, options },
      summary(state),
    )
  }),
})

const status = command("status", {
  summary: "Shows what of the stack runs; exit code 0 healthy, 1 degraded, 3 not running",
  config: {},
  examples: ["stack status --json"],
  run: Effect.fnUntraced(function* () {
    const { STATUS_EXIT, status } = yield* Effect.promise(() => import("../stack/status.ts"))
    const found = yield* status(yield* home)
    const rows = found.services.map(({ service, healthy, url, pid, detail }) => [
      service,
      healthy ? "healthy" : "not healthy",
      url,
      pid,
      detail,
    ])
    const table = rows.length === 0 ? [] : [textTable(["service", "state", "address", "pid", "detail"], rows)]
    return { ...done(found, found.state, ...table), exitCode: STATUS_EXIT[found.state] }
  }),
})

const logs = command("logs", {
  summary: "Shows the logs of the stack, secrets hidden",
  config: {
    service: Argument.String("service").pipe(
      Argument.withDescription(`${SERVICES.join(" | ")}; all when omitted`),
      Argument.withDefault(undefined),
    ),
    follow: toggle("follow", "go on until interrupted").pipe(Flag.withAlias("f")),
    lines: positive(Flag.Int("lines"), "last lines of each").pipe(Flag.withAlias("n"), Flag.withDefault(50)),
  },
  examples: ["stack logs", "stack logs gateway -f -n 5"],
  ongoing: true,
  run: Effect.fnUntraced(function* ({ service, follow, lines }, { json, terminal }) {
    const { logs } = yield* Effect.promise(() => import("../stack/logs.ts"))
    const shown: Array<string> = []
    yield* logs(
      yield* home,
      { known: SERVICES, ...(service === undefined ? {} : { service }), lines, follow },
      (line) => (json ? shown.push(line) : terminal.out(`${line}\n`)),
    )
    return { json: shown, text: "" }
  }),
})

const token = command("token", {
  summary: "Prints a fresh token of the test user and nothing else",
  config: {
    kind: Argument.Literals("kind", TOKEN_KINDS).pipe(Argument.withDefault("access")),
  },
  examples: ["stack token", "stack token id"],
  run: Effect.fnUntraced(function* ({ kind }) {
    const { token } = yield* Effect.promise(() => import("../stack/token.ts"))
    const shown = yield* token(yield* home, kind)
    return done({ kind, token: shown }, shown)
  }),
})

const env = command("env", {
  summary: "Prints export lines with which `portolan token` and `portolan serve` use the stack's realm",
  config: {},
  details: ["They hold the service client's secret."],
  examples: ["stack env", "stack env --json"],
  run: Effect.fnUntraced(function* () {
    const state = readState(yield* home)
    if (state === undefined) return yield* new StackNotRunning()
    const { issuer, serviceClient, serviceSecret } = tokenSourceOf(state)
    const variables: Partial<Record<VariableName, string>> = {
      IDP_URL: state.urls.idp,
      IDP_REALM: REALM.name,
      IDP_CLIENT_ID: serviceClient,
      IDP_CLIENT_SECRET: serviceSecret,
      AUTH_JWKS_URL: `${issuer}${ENDPOINTS.keys}`,
      AUTH_ISSUER: issuer,
    }
    return done(variables, ...Object.entries(variables).map(([name, value]) => `export ${name}='${value}'`))
  }),
})

const down = command("down", {
  summary: "Stops the stack; the only command that does",
  config: {},
  examples: ["stack down"],
  run: Effect.fnUntraced(function* () {
    const { down } = yield* Effect.promise(() => import("../stack/down.ts"))
    const stopped = yield* down(yield* home)
    return done({ stopped }, stopped ? "stopped" : "not running")
  }),
})

const check = command("check", {
  summary: "Asks a gateway everything it should refuse, and shows what it lets through",
  config: CHECK_OPTIONS,
  details: CHECK_DETAILS,
  examples: [
    "stack check",
    "stack check --all --report page.html",
    "stack check --proxy-url https://gateway.example --open /health --secret /admin --jwt /orders --token-file token",
  ],
  ongoing: true,
  run: runCheck,
})

const HOST = /^[\w.:-]{1,253}$/

const upstream = command("upstream", {
  summary: "Runs an upstream that echoes and counts, for a check of your own gateway; until interrupted",
  config: {
    port: Flag.Int("port").pipe(
      Flag.withDescription("0 takes a free one"),
      Flag.withDefault(8900),
      Flag.filter(
        (port) => port >= 0 && port <= 65_535,
        () => "must be a port from 0 to 65535",
      ),
    ),
    host: Flag.String("host").pipe(
      Flag.withDescription("address to listen on; what it is sent, it shows to whoever asks"),
      Flag.withDefault("127.0.0.1"),
      Flag.filter(
        (host) => HOST.test(host),
        () => "must be an address or a name",
      ),
    ),
  },
  details: ["Let your gateway forward to it, then: portolan stack check --proxy-url <gateway> --upstream <this> ..."],
  examples: ["stack upstream", "stack upstream --port 0"],
  ongoing: true,
  run: Effect.fnUntraced(function* ({ port, host }, { terminal, json }) {
    const { COUNT_WORD, echoServer } = yield* Effect.promise(() => import("../stack/upstream/echo_server.ts"))
    const server = echoServer(COUNT_WORD)
    const at = yield* Effect.callback<number, WrongUsage>((resume) => {
      server.once("error", () =>
        resume(Effect.fail(new WrongUsage({ rule: "this address and port cannot be listened on" }))),
      )
      server.listen(port, host, () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
      })
    })
    const url = `http://${host.includes(":") ? `[${host}]` : host}:${at}`
    terminal.out(json ? `${JSON.stringify({ url })}\n` : `upstream  ${url}\n`)
    return yield* Effect.never
  }),
})

/** `portolan stack ...` (specification 17). */
export const stackCommands: CommandGroup<"stack"> = Command.make("stack").pipe(
  Command.withDescription("Runs a local gateway stack, and checks gateways"),
  Command.withSubcommands([up, status, logs, token, env, down, check, upstream]),
)
