import { type ParseArgsOptionsConfig, parseArgs } from "node:util"
import { Cause, Clock, Data, Effect, Exit, Schedule } from "effect"
import { stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"

/** Exit codes of every command (contract section 5). */
export const EXIT = { done: 0, failed: 1, usage: 2 } as const

/** Where a command writes: results on `out`, progress and logs on `err`. */
export interface Terminal {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** True when a person watches `err`: progress lines and colours make sense. */
  readonly interactive: boolean
  /** True when results may be coloured: a person watches `out`, and NO_COLOR is not set. */
  readonly coloured?: boolean
}

/** The command line itself is wrong: exit code 2. */
export class WrongUsage extends Data.TaggedError("WrongUsage")<{ readonly rule: string }> {
  readonly code = "WRONG_USAGE"
  readonly exitCode = EXIT.usage
  override get message(): string {
    return this.rule
  }
}

/** What a command found: the same facts for a program and for a person. */
export interface Report {
  /** Undefined when the command has written by itself. */
  readonly json: unknown
  readonly text: string
  /** 0 when omitted; 1 when the command did its work and the answer is "no". */
  readonly exitCode?: number
}

/** The words after the command's name, already split and checked for known options. */
export interface Arguments {
  readonly positionals: ReadonlyArray<string>
  readonly options: Readonly<Record<string, string | boolean | ReadonlyArray<string | boolean> | undefined>>
  readonly json: boolean
  readonly terminal: Terminal
}

/** An error a command may end with: its message is shown to the user and so holds no secret. */
export interface CommandError {
  readonly _tag: string
  readonly message: string
  /** 1 when absent. */
  readonly exitCode?: number
}

/** One command of `portolan`. */
export interface Command {
  /** Words that select it, such as `["jobs", "get"]`. */
  readonly path: ReadonlyArray<string>
  /** One line for the list of commands. */
  readonly summary: string
  /** Names of the positional arguments, in order; an optional one ends with `?`. */
  readonly positionals: ReadonlyArray<string>
  readonly options: ParseArgsOptionsConfig
  /** One line per option, and anything else worth saying. */
  readonly details?: ReadonlyArray<string>
  /** True for a command that runs until it is stopped or draws by itself: no progress line. */
  readonly ongoing?: boolean
  readonly run: (args: Arguments) => Effect.Effect<Report, CommandError>
}

const usageOf = ({ path, positionals, options, summary, details = [] }: Command): string => {
  const words = positionals.map((name) => (name.endsWith("?") ? `[${name.slice(0, -1)}]` : `<${name}>`))
  const flags = Object.entries(options).map(([name, { type }]) => `[--${name}${type === "string" ? " <value>" : ""}]`)
  return [
    `Usage: portolan ${[...path, ...words, ...flags, "[--json]"].join(" ")}`,
    "",
    summary,
    ...(details.length === 0 ? [] : ["", ...details.map((line) => `  ${line}`)]),
    "",
  ].join("\n")
}

const parse = (
  command: Command,
  words: ReadonlyArray<string>,
): Effect.Effect<Omit<Arguments, "terminal">, WrongUsage> =>
  Effect.try({
    try: () =>
      parseArgs({
        args: [...words],
        options: { ...command.options, json: { type: "boolean" } },
        allowPositionals: true,
        strict: true,
      }),
    // Node's message repeats the wrong word. That shows no secret: no command takes one as an argument.
    catch: (failure) => new WrongUsage({ rule: failure instanceof Error ? failure.message : "Unreadable arguments" }),
  }).pipe(
    Effect.flatMap(({ values, positionals }) => {
      const required = command.positionals.filter((name) => !name.endsWith("?"))
      if (positionals.length < required.length)
        return Effect.fail(new WrongUsage({ rule: `<${required[positionals.length]}> is missing` }))
      if (positionals.length > command.positionals.length)
        return Effect.fail(new WrongUsage({ rule: `Unexpected argument '${positionals[command.positionals.length]}'` }))
      const { json, ...options } = values
      return Effect.succeed({ positionals, options, json: json === true })
    }),
  )

const CLEAR_LINE = "\r\u001b[2K"

/** Shows on a terminal that something is going on, from the first second on; leaves nothing behind. */
const withProgress = <A, E>(label: string, terminal: Terminal, program: Effect.Effect<A, E>): Effect.Effect<A, E> => {
  if (!terminal.interactive) return program
  return Effect.gen(function* () {
    const startedAtMs = yield* Clock.currentTimeMillis
    const show = Effect.map(Clock.currentTimeMillis, (nowMs) =>
      terminal.err(`${CLEAR_LINE}${label} ${((nowMs - startedAtMs) / 1000).toFixed(1)} s`),
    )
    yield* show.pipe(
      Effect.repeat(Schedule.spaced("200 millis")),
      Effect.ensuring(Effect.sync(() => terminal.err(CLEAR_LINE))),
      Effect.delay("1 second"),
      Effect.forkScoped,
    )
    return yield* program
  }).pipe(Effect.scoped)
}

/**
 * Runs a command on its words.
 *
 * @param words what follows the command's name on the command line
 * @param terminal where results, progress and errors are written
 * @returns the exit code: 0 done, 1 refused or failed, 2 wrong usage; a command may define more (`stack status`)
 */
export const runCommand = async (
  command: Command,
  words: ReadonlyArray<string>,
  terminal: Terminal,
): Promise<number> => {
  if (words.includes("--help") || words.includes("-h")) {
    terminal.out(usageOf(command))
    return EXIT.done
  }
  const json = words.includes("--json")
  const program = Effect.flatMap(parse(command, words), (args) => {
    const work = command.run({ ...args, terminal })
    return command.ongoing === true ? work : withProgress(`${command.path.join(" ")}...`, terminal, work)
  })
  const exit = await Effect.runPromiseExit(program)
  if (Exit.isSuccess(exit)) {
    const { value } = exit
    if (json && value.json !== undefined) terminal.out(`${stringifyLossless(value.json, 2)}\n`)
    else if (!json && value.text !== "") terminal.out(`${value.text}\n`)
    return value.exitCode ?? EXIT.done
  }
  const error = Cause.findErrorOption(exit.cause)
  if (error._tag === "None") {
    terminal.err(`Unexpected failure: ${Cause.pretty(exit.cause)}\n`)
    return EXIT.failed
  }
  terminal.err(`${error.value.message}\n`)
  if (error.value._tag === "WrongUsage") terminal.err(`Try: portolan ${command.path.join(" ")} --help\n`)
  return error.value.exitCode ?? EXIT.failed
}
