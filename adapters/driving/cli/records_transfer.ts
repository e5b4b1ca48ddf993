// `portolan records import` and `export`: what they do once their words are read.
import { constants, statSync } from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { Effect, Stream } from "effect"
import { type Batch, batchesOf, exportLines, importBatch } from "../../../application/records/transfer.ts"
import { isObject } from "../../../domain/json_object.ts"
import { RemoteRecords } from "../../../domain/records/remote_records.ts"
import { type CommandError, done, type Manner, type Terminal, WrongUsage } from "./command.ts"
import { digestOf, type ImportState, newState, openState, removeState, saveState } from "./import_state.ts"
import { inputLines } from "./input_lines.ts"
import { progressBar } from "./progress_bar.ts"
import { UnreadableFile } from "./unreadable_file.ts"

/** Standard input or output in the place of a file. */
const STANDARD = "-"

/** The state of a file's import; standard input cannot be read again, so nothing is remembered of it. */
const begin = (file: string, place: { readonly url: string; readonly collection: string }) =>
  Effect.try({
    try: (): { readonly known: ImportState; readonly size: number } => {
      if (file === STANDARD) return { known: newState(place), size: 0 }
      const { size } = statSync(file)
      const known = openState(file, place)
      saveState(file, known)
      return { known, size }
    },
    catch: (failure): CommandError =>
      failure instanceof WrongUsage
        ? failure
        : new UnreadableFile({ path: file, rule: "cannot be read, or its folder cannot be written to" }),
  })

/**
 * Imports a file. What is imported is remembered beside it after every batch, so that the same command goes on where a broken
 * one ended.
 */
export const importFile = Effect.fnUntraced(function* (
  file: string,
  place: { readonly url: string; readonly collection: string },
  { terminal }: Manner,
) {
  const { known, size } = yield* begin(file, place)
  let state = known
  if (state.bytes > 0) terminal.err(`Going on after line ${state.lines}: ${state.records} records are imported\n`)
  const before = state.records
  const bar = progressBar(terminal)
  const take = Effect.fnUntraced(function* (batch: Batch) {
    const { created } = yield* importBatch(place.collection, batch, state.key)
    state = {
      ...state,
      bytes: batch.end,
      lines: batch.lines.at(-1)?.number ?? state.lines,
      records: state.records + created,
      from: batch.start,
      digest: file === STANDARD ? "" : digestOf(file, batch.start, batch.end),
    }
    if (file !== STANDARD) saveState(file, state)
    bar.show({ part: size === 0 ? undefined : state.bytes / size, records: state.records - before })
  })
  const run: Effect.Effect<void, CommandError, RemoteRecords> = Stream.runForEach(
    batchesOf(inputLines(file, state), state.bytes),
    take,
  )
  yield* Effect.ensuring(run, Effect.sync(bar.end))
  if (file !== STANDARD) removeState(file)
  return done(
    { collection: place.collection, records: state.records, lines: state.lines },
    `Imported ${state.records} records into ${place.collection}`,
  )
})

/** Most bytes at the end of a file that are read to find its last line: twice what a record may have. */
const TAIL_BYTES = 2 ** 21

/** Cuts off a line that did not come to its end, and gives the id of the last whole one; 0 when there is none. */
const lastId = async (handle: FileHandle): Promise<number> => {
  const { size } = await handle.stat()
  const tail = Buffer.alloc(Math.min(size, TAIL_BYTES))
  await handle.read(tail, 0, tail.length, size - tail.length)
  const end = tail.lastIndexOf("\n") + 1
  await handle.truncate(size - tail.length + end)
  if (end === 0) return 0
  const line: unknown = JSON.parse(tail.subarray(tail.lastIndexOf("\n", end - 2) + 1, end).toString("utf8"))
  if (!isObject(line) || typeof line["id"] !== "number") throw new Error("no record")
  return line["id"]
}

/** Where lines go, and after which id. Writing waits until they are taken. */
interface Sink {
  readonly after: number
  readonly write: (text: string) => Promise<unknown>
  readonly close: () => Promise<unknown>
}

const openSink = (
  file: string,
  after: number,
  resume: boolean,
  { out, drained }: Terminal,
): Effect.Effect<Sink, UnreadableFile> => {
  if (file === STANDARD)
    return Effect.succeed({
      after,
      write: async (text) => {
        out(text)
        await drained?.()
      },
      close: async () => {},
    })
  return Effect.tryPromise({
    try: async () => {
      // A file that is there is only written to by who wants to go on with it.
      const handle = await open(file, resume ? constants.O_RDWR | constants.O_CREAT : "wx")
      try {
        const from = resume ? await lastId(handle) : after
        let end = resume ? (await handle.stat()).size : 0
        return {
          after: Math.max(from, after),
          write: async (text: string) => {
            const bytes = Buffer.from(text)
            await handle.write(bytes, 0, bytes.length, end)
            end += bytes.length
          },
          close: () => handle.close(),
        }
      } catch (failure) {
        await handle.close()
        throw failure
      }
    },
    catch: () =>
      new UnreadableFile({
        path: file,
        rule: resume ? "is no export, or cannot be written to" : "is there already, or cannot be made",
      }),
  })
}

/**
 * Exports a collection to a file, or to standard output for `-`.
 *
 * @param wanted.after an id, or 0 for the beginning
 * @param wanted.resume goes on after the last whole line of the file
 */
export const exportTo = Effect.fnUntraced(function* (
  file: string,
  collection: string,
  wanted: { readonly after: number; readonly resume: boolean },
  { terminal }: Manner,
) {
  const remote = yield* RemoteRecords
  const sink = yield* openSink(file, wanted.after, wanted.resume, terminal)
  // Only a person who watches wants to know how much there is.
  const total = terminal.interactive ? yield* remote.count(collection) : 0
  const bar = progressBar(terminal)
  let records = 0
  const run = Stream.runForEachArray(exportLines(collection, sink.after), (lines) =>
    Effect.gen(function* () {
      yield* Effect.tryPromise({
        try: () => sink.write(lines.map((line) => `${line}\n`).join("")),
        catch: () => new UnreadableFile({ path: file, rule: "cannot be written to" }),
      })
      records += lines.length
      bar.show({ part: total === 0 ? undefined : records / total, records })
    }),
  )
  yield* Effect.ensuring(
    run,
    Effect.promise(async () => {
      bar.end()
      await sink.close()
    }),
  )
  // On standard output are the records, and nothing else.
  return file === STANDARD
    ? done(undefined)
    : done({ collection, records, file }, `Exported ${records} records of ${collection} to ${file}`)
})
