import { readFile } from "node:fs/promises"
import { Effect, type Layer } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { RemoteRecords } from "../../../domain/records/remote_records.ts"
import { type CommandError, type CommandGroup, command, done, optional, optionalText, toggle } from "./command.ts"
import { exportTo, importFile } from "./records_transfer.ts"
import { textTable } from "./text_table.ts"
import { UnreadableFile } from "./unreadable_file.ts"

/** Which service the words of the command line name; what they leave open is the environment's to say. */
export interface ServiceWords {
  readonly url: string | undefined
  readonly tokenFile: string | undefined
}

/** Finds the service that a command asks. */
export type FindService = (
  words: ServiceWords,
) => Effect.Effect<{ readonly url: string; readonly layer: Layer.Layer<RemoteRecords> }, CommandError>

const NAME_REGEXP = /^[a-z0-9_-]{1,63}$/
const ID_REGEXP = /^[1-9]\d{0,15}$/

const SERVICE = {
  collection: Argument.String("collection").pipe(
    Argument.filter(
      (name) => NAME_REGEXP.test(name),
      () => "must be the name of a collection",
    ),
  ),
  url: optionalText("url", "address of the service, such as http://127.0.0.1:8080"),
  tokenFile: optionalText("token-file", "file with the access token"),
}

const id = Argument.String("id").pipe(
  Argument.filter(
    (text) => ID_REGEXP.test(text),
    () => "must be the id of a record",
  ),
)

const NEEDS =
  "Asks the service at --url, else RECORDS_URL, else HOST and PORT, with the token in --token-file or RECORDS_TOKEN."

/** `portolan records ...`, over HTTP against the service that `find` gives. */
export const recordCommands = (find: FindService): CommandGroup<"records"> => {
  const using = <A, E extends CommandError>(
    words: ServiceWords,
    program: (url: string) => Effect.Effect<A, E, RemoteRecords>,
  ): Effect.Effect<A, CommandError> =>
    Effect.flatMap(find(words), ({ url, layer }) => Effect.provide(program(url), layer))
  const asking = <A, E extends CommandError>(
    words: ServiceWords,
    ask: (remote: RemoteRecords["Service"]) => Effect.Effect<A, E>,
  ) => using(words, () => Effect.flatMap(RemoteRecords, ask))

  const list = command("list", {
    summary: "Lists a page of a collection",
    config: {
      ...SERVICE,
      start: optional(Flag.Int("start"), "records to skip"),
      limit: optional(Flag.Int("limit"), "records at most; 100 when omitted"),
    },
    details: [NEEDS],
    examples: ["records list products", "records list products --start 100 --limit 50 --json"],
    run: (input) =>
      Effect.map(
        asking(input, (remote) => remote.list(input.collection, input)),
        (records) => {
          const titles = [...new Set(records.flatMap((record) => Object.keys(record)))]
          const rows = records.map((record) =>
            titles.map((title) => {
              const value = record[title]
              return typeof value === "object" && value !== null ? JSON.stringify(value) : value
            }),
          )
          return done(records, rows.length === 0 ? "None" : textTable(titles, rows))
        },
      ),
  })

  const get = command("get", {
    summary: "Prints a record",
    config: { ...SERVICE, id },
    details: [NEEDS],
    examples: ["records get products 7"],
    run: (input) =>
      Effect.map(
        asking(input, (remote) => remote.get(input.collection, input.id)),
        (record) => done(record, JSON.stringify(record, undefined, 2)),
      ),
  })

  const create = command("create", {
    summary: "Creates a record, or several, all or nothing",
    config: {
      ...SERVICE,
      file: Argument.String("file").pipe(
        Argument.withDescription("a record, or an array of them, as JSON; - reads standard input"),
      ),
      key: optionalText("key", "makes the same command, run again, create nothing more"),
    },
    details: [NEEDS],
    examples: ["records create products chain.json", "records create products - --key order-17"],
    run: Effect.fnUntraced(function* ({ file, ...input }) {
      const body = yield* Effect.tryPromise({
        try: () => readFile(file === "-" ? "/dev/stdin" : file, "utf8"),
        catch: () => new UnreadableFile({ path: file, rule: "cannot be read" }),
      })
      const made = yield* asking(input, (remote) => remote.create(input.collection, body, input.key))
      return done(made, JSON.stringify(made, undefined, 2))
    }),
  })

  const remove = command("delete", {
    summary: "Deletes a record and prints it",
    config: { ...SERVICE, id },
    details: [NEEDS],
    examples: ["records delete products 7"],
    run: (input) =>
      Effect.map(
        asking(input, (remote) => remote.remove(input.collection, input.id)),
        (record) => done(record, JSON.stringify(record, undefined, 2)),
      ),
  })

  const importing = command("import", {
    summary: "Creates the records of a file, one a line as JSON",
    config: {
      ...SERVICE,
      file: Argument.String("file").pipe(Argument.withDescription("lines of JSON; - reads standard input")),
    },
    details: [
      NEEDS,
      "Records are sent in batches, each of them all or nothing. How far it has come is remembered in <file>.import.json:",
      "the same command goes on where a broken one ended, and makes no record twice.",
    ],
    examples: ["records import products products.ndjson"],
    ongoing: true,
    run: (input, manner) =>
      using(input, (url) => importFile(input.file, { url, collection: input.collection }, manner)),
  })

  const exporting = command("export", {
    summary: "Writes every record as one line of JSON, by ascending id",
    config: {
      ...SERVICE,
      output: Flag.String("output").pipe(
        Flag.withDescription("file to make; standard output when omitted"),
        Flag.withDefault("-"),
      ),
      after: optional(Flag.Int("after"), "id after which to begin"),
      resume: toggle("resume", "go on after the last whole line of the file"),
    },
    details: [NEEDS, "When the connection breaks, it goes on after the last whole line."],
    examples: ["records export products --output products.ndjson", "records export products | wc -l"],
    ongoing: true,
    run: ({ output, after = 0, resume, ...input }, manner) =>
      using(input, () => exportTo(output, input.collection, { after, resume }, manner)),
  })

  return Command.make("records").pipe(
    Command.withDescription("Reads and writes the records of a running service"),
    Command.withSubcommands([list, get, create, remove, importing, exporting]),
  )
}
