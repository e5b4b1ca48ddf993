import {
  Cause,
  Clock,
  Context,
  Data,
  Effect,
  Exit,
  FileSystem,
  Layer,
  Option,
  Path,
  Schedule,
  Stdio,
  Terminal as TerminalOfEffect,
} from "effect"
import { CliConfig, CliOutput, Command, Flag, GlobalFlag } from "effect/cli"
import { ChildProcessSpawner } from "effect/process"
import { stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"

/** Exit codes of every command (specification 15). */
const EXIT = { done: 0, failed: 1, usage: 2 } as const

/** Where a command writes: results on `out`, progress and logs on `err`. */
export interface Terminal {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Waits until what was written to `out` has been taken: for results that do not fit into memory. */
  readonly drained?: () => Promise<void>
  /** True when a person watches `err`: progress lines make sense. */
  readonly interactive: boolean
  /** True when results may be coloured: a person watches `out`, and NO_COLOR is not set. */
  readonly coloured?: boolean
}

/** The terminal of the command line that is run. */
class Screen extends Context.Service<Screen, Terminal>()("portolan/adapters/driving/cli/Screen") {}

/** `--json`, which every command takes. */
const JSON_FLAG = GlobalFlag.Setting("json")({
  flag: Flag.Boolean("json").pipe(
    Flag.withDescription("Print the result, or the error, as JSON"),
    Flag.withDefault(false),
  ),
})

/** The command line itself is wrong: exit code 2. */
export class WrongUsage extends Data.TaggedError("WrongUsage")<{ readonly rule: string }> {
  readonly code = "WRONG_USAGE"
  readonly exitCode = EXIT.usage
  override get message(): string {
    return this.rule
  }
}

/** The command did its work, and the answer is "no". */
class EndedWith extends Data.TaggedError("EndedWith")<{ readonly exitCode: number }> {
  override get message(): string {
    return `Exit code ${this.exitCode}`
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

/** The report of work that is done. */
export const done = (json: unknown, ...lines: ReadonlyArray<string>): Report => ({ json, text: lines.join("\n") })

/** How a command is asked to report. */
export interface Manner {
  readonly json: boolean
  readonly terminal: Terminal
}

/** An error a command may end with: its message is shown to the user and so holds no secret. */
export interface CommandError {
  readonly _tag: string
  readonly message: string
  /** Stable name of the error for programs; the tag when absent. */
  readonly code?: string
  /** 1 when absent. */
  readonly exitCode?: number
  /** What to type next, without the leading `portolan`; the command's help when absent and the exit code is 2. */
  readonly next?: string
}

/** What a command says of itself in `--help`, beside its arguments and flags. */
interface About<Config extends Command.Command.Config> {
  /** One line for the list of commands. */
  readonly summary: string
  readonly config: Config
  /** Further lines: what it needs, what else is worth saying. */
  readonly details?: ReadonlyArray<string>
  /** Command lines that work, without the leading `portolan`. */
  readonly examples: ReadonlyArray<string>
  /** True for a command that runs until it is stopped or draws by itself: no progress line. */
  readonly ongoing?: boolean
  readonly run: (input: Command.Command.Config.Infer<Config>, manner: Manner) => Effect.Effect<Report, CommandError>
}

/** A flag that may be left out. */
export const optional = <A>(flag: Flag.Flag<A>, help: string): Flag.Flag<A | undefined> =>
  flag.pipe(Flag.withDescription(help), Flag.optional, Flag.map(Option.getOrUndefined))

/** A flag with a text, which may be left out. */
export const optionalText = (name: string, help: string): Flag.Flag<string | undefined> =>
  optional(Flag.String(name), help)

/** A flag without a value: it is there or not. */
export const toggle = (name: string, help: string): Flag.Flag<boolean> =>
  Flag.Boolean(name).pipe(Flag.withDescription(help), Flag.withoutNegation, Flag.withDefault(false))

/** `--port`: a TCP port of the public listener, which goes before the variable PORT. */
export const port: Flag.Flag<number | undefined> = optional(
  Flag.Int("port").pipe(
    Flag.filter(
      (value) => value >= 0 && value <= 65_535,
      () => "must be a whole number from 0 to 65535",
    ),
  ),
  "port to listen on, instead of PORT; 0 takes a free one",
)

/** A flag with a number above 0. */
export const positive = (flag: Flag.Flag<number>, help: string): Flag.Flag<number> =>
  flag.pipe(
    Flag.withDescription(help),
    Flag.filter(
      (value) => value > 0,
      () => "must be above 0",
    ),
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

/** Makes one command of `portolan`. What `run` gives is printed as text, or with `--json` as JSON. */
export const command = <const Name extends string, const Config extends Command.Command.Config>(
  name: Name,
  { summary, config, details = [], examples, ongoing = false, run }: About<Config>,
) =>
  Command.make(
    name,
    config,
    Effect.fnUntraced(function* (input) {
      const manner: Manner = { json: yield* JSON_FLAG, terminal: yield* Screen }
      const { json, terminal } = manner
      const work = run(input, manner)
      const report = yield* ongoing ? work : withProgress(`${name}...`, terminal, work)
      if (json && report.json !== undefined) terminal.out(`${stringifyLossless(report.json, 2)}\n`)
      else if (!json && report.text !== "") terminal.out(`${report.text}\n`)
      if (report.exitCode) return yield* new EndedWith({ exitCode: report.exitCode })
    }),
  ).pipe(
    Command.withDescription([summary, ...details].join("\n  ")),
    Command.withShortDescription(summary),
    Command.withExamples(examples.map((line) => ({ command: `portolan ${line}` }))),
  )

/** Commands under a common word, such as `portolan jobs`. */
export type CommandGroup<Name extends string> = Command.Command<
  Name,
  Record<never, never>,
  Record<never, never>,
  CommandError,
  Command.Environment | Screen | typeof JSON_FLAG.Identifier
>

/** The library's own ways to files, questions and processes: no command uses them. */
const UNUSED = Layer.mergeAll(
  FileSystem.layerNoop({}),
  Path.layer,
  Stdio.layerTest({}),
  Layer.succeed(TerminalOfEffect.Terminal)(
    TerminalOfEffect.make({
      columns: Effect.succeed(80),
      rows: Effect.succeed(24),
      size: Effect.die("unused"),
      readInput: Effect.die("unused"),
      readLine: Effect.die("unused"),
      display: () => Effect.void,
    }),
  ),
  Layer.succeed(ChildProcessSpawner.ChildProcessSpawner)(ChildProcessSpawner.make(() => Effect.die("unused"))),
)

/** Writes an error for a person, with the line to type next if there is one, or for a program that asked for JSON. */
const writeError = (
  { err }: Terminal,
  json: boolean,
  { code, message, next }: { readonly code: string; readonly message: string; readonly next?: string },
): void => {
  if (json) err(`${JSON.stringify({ code, message })}\n`)
  else err(next === undefined ? `${message}\n` : `${message}\nTry: ${next}\n`)
}

/** How help, version and wrong usage look. */
const presenter = (terminal: Terminal, json: boolean): CliOutput.Presenter => ({
  present: (event) =>
    Effect.map(CliOutput.Formatter, (formatter) => {
      switch (event._tag) {
        case "Help":
          return terminal.out(`${formatter.formatHelpDoc(event.helpDoc)}\n`)
        case "Version":
          return terminal.out(`${event.version}\n`)
        case "InvalidInvocation": {
          const message = event.errors.map((each) => each.message).join("\n")
          writeError(terminal, json, { code: "WRONG_USAGE", message, next: `${event.commandPath.join(" ")} --help` })
        }
      }
    }),
})

/** The names of the command that a line asks for, from the root on. */
const commandPath = (root: Command.Command.Any, line: ReadonlyArray<string>): ReadonlyArray<string> => {
  const [word, ...rest] = line
  const below = root.subcommands.flatMap(({ commands }) => commands).find(({ name }) => name === word)
  if (below !== undefined) return [root.name, ...commandPath(below, rest)]
  // A flag of the whole program may stand before the command's name.
  return word?.startsWith("-") === true ? commandPath(root, rest) : [root.name]
}

/**
 * Runs a command line.
 *
 * @param root the command that holds all others; it takes `--json` for them
 * @param words the command line behind the program's name; `help jobs get` is `jobs get --help`
 * @param terminal where results, progress and errors are written
 * @returns the exit code: 0 done, 1 refused or failed, 2 wrong usage; a command may define more (`stack status`)
 */
export const runCommandLine = async <Name extends string>(
  root: CommandGroup<Name>,
  version: string,
  words: ReadonlyArray<string>,
  terminal: Terminal,
): Promise<number> => {
  const json = words.includes("--json")
  const line = words[0] === "help" ? [...words.slice(1), "--help"] : words
  const surroundings = Layer.mergeAll(
    UNUSED,
    Layer.succeed(Screen)(terminal),
    CliOutput.layerPresenter(presenter(terminal, json)),
    CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] }),
  )
  const run = Command.runWith(root.pipe(Command.withGlobalFlags([JSON_FLAG])), { version })
  const exit = await Effect.runPromiseExit(Effect.provide(run(line), surroundings))
  if (Exit.isSuccess(exit)) return EXIT.done
  const failure = Cause.findErrorOption(exit.cause)
  if (failure._tag === "None") {
    terminal.err(`Unexpected failure: ${Cause.pretty(exit.cause)}\n`)
    return EXIT.failed
  }
  const error: CommandError = failure.value
  // The presenter has shown what is wrong with the words.
  if (error._tag === "ShowHelp") return EXIT.usage
  const { exitCode = EXIT.failed, code = error._tag, message } = error
  if (error._tag !== "EndedWith") {
    const help = exitCode === EXIT.usage ? `${commandPath(root, line).join(" ")} --help` : undefined
    const next = error.next === undefined ? help : `${root.name} ${error.next}`
    writeError(terminal, json, { code, message, ...(next === undefined ? {} : { next }) })
  }
  return exitCode
}
