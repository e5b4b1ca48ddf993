import { resolve } from "node:path"
import { Effect } from "effect"
import { type Arguments, type Command, WrongUsage } from "../adapters/driving/cli/command.ts"
import { textTable } from "../adapters/driving/cli/text_table.ts"
import { LINES, VARIANTS } from "../domain/gateway/route_profile.ts"
import { DATABASES, ENGINES, readStackOptions } from "../domain/gateway/stack_options.ts"
import { down } from "../stack/down.ts"
import { StackRefused } from "../stack/errors.ts"
import { logs } from "../stack/logs.ts"
import { REALM } from "../stack/realm.ts"
import { SERVICES, type StackState } from "../stack/state.ts"
import { STATUS_EXIT, status } from "../stack/status.ts"
import { TOKEN_KINDS, token } from "../stack/token.ts"
import { up } from "../stack/up.ts"
import { readEnvironment } from "./config.ts"

const home = Effect.map(readEnvironment, ({ PORTOLAN_HOME }) => resolve(PORTOLAN_HOME))

const text = (options: Arguments["options"], name: string): string | undefined => {
  const value = options[name]
  return typeof value === "string" ? value : undefined
}

const summary = ({ urls, options, secrets }: StackState): string =>
  [
    `gateway   ${urls.proxy}   line ${options.gateway}, ${options.variant}, ${options.engine} engine`,
    `identity  ${urls.idp}/realms/${REALM.name}`,
    `upstream  ${urls.upstream}`,
    `user      ${REALM.user.name}, password ${secrets.userPassword}`,
    "",
    "The stack runs until `portolan stack down`. Try:",
    `  curl -i ${urls.proxy}/open/allowed`,
    `  curl -i ${urls.proxy}/open/secret`,
    options.gateway === "2.8"
      ? `  curl -i -H "Authorization: Bearer $(npm run -s portolan -- stack token)" ${urls.proxy}/jwt/x`
      : `  curl -i -H "Authorization: Bearer $(npm run -s portolan -- stack token)" ${urls.proxy}/api-access/x`,
    `  and ${urls.proxy}/oidc in a browser`,
  ].join("\n")

/** `portolan stack up` (contract section 7). */
export const upCommand: Command = {
  path: ["stack", "up"],
  summary: "Starts the gateway stack and returns when it refuses what it should",
  positionals: [],
  options: {
    engine: { type: "string" },
    gateway: { type: "string" },
    variant: { type: "string" },
    database: { type: "string" },
    "proxy-port": { type: "string" },
    "idp-port": { type: "string" },
    "upstream-port": { type: "string" },
    "jwt-roles": { type: "string" },
  },
  details: [
    `--engine         ${ENGINES.join(" | ")}; embedded needs nothing but this program`,
    `--gateway        ${LINES.join(" | ")}; 3.9 when absent`,
    `--variant        ${VARIANTS.join(" | ")}; 2.8 alone has both, 3.9 always has the variant's plugin`,
    `--database       ${DATABASES.join(" | ")}; docker engine and gateway 2.8 alone`,
    "--proxy-port     8000 when absent; 0 takes a free one",
    "--idp-port       8180 when absent",
    "--upstream-port  8900 when absent",
    "--jwt-roles      realm roles /jwt asks for, any one of them",
  ],
  ongoing: true,
  run: Effect.fnUntraced(function* ({ options, terminal }) {
    const read = readStackOptions({
      engine: text(options, "engine"),
      gateway: text(options, "gateway"),
      variant: text(options, "variant"),
      database: text(options, "database"),
      proxyPort: text(options, "proxy-port"),
      idpPort: text(options, "idp-port"),
      upstreamPort: text(options, "upstream-port"),
      jwtRoles: text(options, "jwt-roles"),
    })
    if ("mistakes" in read) return yield* new StackRefused({ reasons: read.mistakes })
    if (read.gateway === "3.9" && read.variant === "variant")
      terminal.err("note: every 3.9 gateway has the variant's plugin; --variant changes nothing\n")
    const state = yield* up(yield* home, read, (line) => terminal.err(`${line}\n`))
    const { urls, options: taken, secrets } = state
    return {
      json: { ...urls, realm: REALM.name, user: REALM.user.name, password: secrets.userPassword, options: taken },
      text: summary(state),
    }
  }),
}

/** `portolan stack status` (contract section 7). */
export const statusCommand: Command = {
  path: ["stack", "status"],
  summary: "Shows what of the stack runs; exit code 0 healthy, 1 degraded, 3 not running",
  positionals: [],
  options: {},
  run: Effect.fnUntraced(function* () {
    const found = yield* status(yield* home)
    const rows = found.services.map(({ service, healthy, url, pid, detail }) => [
      service,
      healthy ? "healthy" : "not healthy",
      url,
      pid,
      detail,
    ])
    const table = rows.length === 0 ? "" : `\n${textTable(["service", "state", "address", "pid", "detail"], rows)}`
    return { json: found, text: `${found.state}${table}`, exitCode: STATUS_EXIT[found.state] }
  }),
}

/** `portolan stack logs` (contract section 7). */
export const logsCommand: Command = {
  path: ["stack", "logs"],
  summary: "Shows the logs of the stack, secrets hidden",
  positionals: ["service?"],
  options: { follow: { type: "boolean", short: "f" }, lines: { type: "string", short: "n" } },
  details: [
    `service       ${SERVICES.join(" | ")}; all when absent`,
    "-f, --follow  go on until interrupted",
    "-n, --lines   last lines of each; 50 when absent",
  ],
  ongoing: true,
  run: Effect.fnUntraced(function* ({ positionals: [service], options, terminal, json }) {
    const lines = text(options, "lines") ?? "50"
    if (!/^\d{1,6}$/.test(lines)) return yield* new WrongUsage({ rule: "--lines must be a whole number" })
    const shown: Array<string> = []
    yield* logs(
      yield* home,
      {
        known: SERVICES,
        ...(service === undefined ? {} : { service }),
        lines: Number(lines),
        follow: options["follow"] === true,
      },
      (line) => (json ? shown.push(line) : terminal.out(`${line}\n`)),
    )
    return { json: shown, text: "" }
  }),
}

/** `portolan stack token` (contract section 7). */
export const stackTokenCommand: Command = {
  path: ["stack", "token"],
  summary: "Prints a fresh token of the test user and nothing else",
  positionals: ["kind?"],
  options: {},
  details: [`kind  ${TOKEN_KINDS.join(" | ")}; access when absent`],
  run: Effect.fnUntraced(function* ({ positionals: [word = "access"] }) {
    const kind = TOKEN_KINDS.find((each) => each === word)
    if (kind === undefined) return yield* new WrongUsage({ rule: `<kind> must be one of ${TOKEN_KINDS.join(", ")}` })
    const shown = yield* token(yield* home, kind)
    return { json: { kind, token: shown }, text: shown }
  }),
}

/** `portolan stack down` (contract section 7). */
export const downCommand: Command = {
  path: ["stack", "down"],
  summary: "Stops the stack; the only command that does",
  positionals: [],
  options: {},
  run: Effect.fnUntraced(function* () {
    const stopped = yield* down(yield* home)
    return { json: { stopped }, text: stopped ? "stopped" : "not running" }
  }),
}
