#!/usr/bin/env bun
import { type Command, EXIT, runCommand, type Terminal } from "../adapters/driving/cli/command.ts"
import { VERSION } from "./version.ts"

const MEDIA = ["image", "video", "reel", "carousel", "status", "publish", "limit", "app-token", "probe"]
const JOBS = ["get", "run", "plan", "scale", "restart", "restarts", "delete", "wait"] as const
const ALLOCATIONS = ["stats", "list"] as const

type Loaders = Readonly<Record<string, () => Promise<Command>>>

/** The commands of an area, each by its two words. */
const ofArea = <Name extends string>(
  area: string,
  names: ReadonlyArray<Name>,
  load: (name: Name) => Promise<Command>,
): Loaders => Object.fromEntries(names.map((name) => [`${area} ${name}`, () => load(name)]))

/** Every command, loaded only when it is asked for. */
const COMMANDS: Loaders = {
  serve: async () => (await import("./serve_command.ts")).serveCommand,
  demo: async () => (await import("./serve_command.ts")).demoCommand,
  token: async () => (await import("./token_command.ts")).tokenCommand,
  config: async () => (await import("./config_command.ts")).configCommand,
  "stack up": async () => (await import("./stack_commands.ts")).upCommand,
  "stack status": async () => (await import("./stack_commands.ts")).statusCommand,
  "stack logs": async () => (await import("./stack_commands.ts")).logsCommand,
  "stack token": async () => (await import("./stack_commands.ts")).stackTokenCommand,
  "stack down": async () => (await import("./stack_commands.ts")).downCommand,
  "stack check": async () => (await import("./check_command.ts")).checkCommand,
  "stack upstream": async () => (await import("./check_command.ts")).upstreamCommand,
  ...ofArea("media", MEDIA, async (name) => (await import("./media_command.ts")).mediaCommand(name)),
  ...ofArea("jobs", JOBS, async (name) => (await import("./scheduler_commands.ts")).schedulerCommands.jobs[name]),
  ...ofArea(
    "allocations",
    ALLOCATIONS,
    async (name) => (await import("./scheduler_commands.ts")).schedulerCommands.allocations[name],
  ),
}

const terminal: Terminal = {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  interactive: process.stderr.isTTY === true,
  // https://no-color.org: any text but an empty one.
  coloured: process.stdout.isTTY === true && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb",
}

const overview = async (): Promise<string> => {
  const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()))
  const width = Math.max(...commands.map(({ path }) => path.join(" ").length))
  return [
    `Portolan ${VERSION}`,
    "",
    "Usage: portolan <command> [arguments] [--json] [--help]",
    "",
    ...commands.map(({ path, summary }) => `  ${path.join(" ").padEnd(width)}  ${summary}`),
    "",
  ].join("\n")
}

const main = async (words: ReadonlyArray<string>): Promise<number> => {
  const [first = "", second] = words
  if (first === "--version") {
    terminal.out(`${VERSION}\n`)
    return EXIT.done
  }
  if (first === "" || first === "--help" || first === "-h" || first === "help") {
    terminal.out(await overview())
    return first === "" ? EXIT.usage : EXIT.done
  }
  const two = second === undefined ? undefined : COMMANDS[`${first} ${second}`]
  if (two !== undefined) return runCommand(await two(), words.slice(2), terminal)
  const one = COMMANDS[first]
  if (one !== undefined) return runCommand(await one(), words.slice(1), terminal)
  terminal.err(`Unknown command '${words.slice(0, 2).join(" ")}'\nTry: portolan --help\n`)
  return EXIT.usage
}

const exitCode = await main(process.argv.slice(2))
// The process ends once the pipe has taken all results.
process.stdout.write("", () => process.exit(exitCode))
