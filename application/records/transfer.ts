// Records in and out of a running service: in batches that a break never doubles, out in lines that a break never loses.
import { Data, Effect, Schedule, Stream } from "effect"
import { BATCH_MAX } from "../../domain/records/batch.ts"
import { isPassingRemote, type RemoteError, RemoteRecords } from "../../domain/records/remote_records.ts"

/** Most bytes of lines that are sent together: the service's own bound on a body. */
const BATCH_BYTES_MAX = 1_048_576

/** When a batch, or the rest of an export, is asked for again: after 0.5 s, then twice as long each time up to 15 s. */
const AGAIN = Schedule.min([Schedule.exponential("500 millis"), Schedule.spaced("15 seconds")]).pipe(
  Schedule.jittered,
  Schedule.upTo({ times: 10 }),
)

/** A line of the input and where it lies. */
export interface InputLine {
  readonly text: string
  /** From 1. */
  readonly number: number
  /** Its bytes, with one for the line break. */
  readonly bytes: number
  /** Bytes of the input up to its end, line break included. */
  readonly end: number
}

/** Lines that are sent together. */
export interface Batch {
  readonly lines: ReadonlyArray<InputLine>
  /** Bytes of the input before it. */
  readonly start: number
  /** Bytes of the input up to its end. */
  readonly end: number
}

/** A line of the input is not what an import reads. */
export class UnreadableLine extends Data.TaggedError("UnreadableLine")<{
  readonly number: number
  readonly rule: string
}> {
  readonly code = "UNREADABLE_LINE"
  override get message(): string {
    return `Line ${this.number} ${this.rule}`
  }
}

/** The service refused records of the input; those before the batch are imported. */
export class LinesRefused extends Data.TaggedError("LinesRefused")<{
  readonly code: string
  /** One sentence for each broken rule, naming its line. */
  readonly sentences: ReadonlyArray<string>
}> {
  override get message(): string {
    return this.sentences.join("\n")
  }
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/**
 * Gathers lines into batches. The same lines from the same place give the same batches, so that a batch can be sent again
 * under the same key. Blank lines are passed over.
 *
 * @param start bytes of the input before the first line
 * @fails {UnreadableLine} for a line that is no JSON, or too long for any batch; the lines before it come first
 */
export const batchesOf = <E>(
  lines: Stream.Stream<InputLine, E>,
  start: number,
): Stream.Stream<Batch, E | UnreadableLine> =>
  Stream.suspend(() => {
    let open: Array<InputLine> = []
    let bytes = 0
    let from = start
    const close = (): ReadonlyArray<Batch> => {
      const end = open.at(-1)?.end
      if (end === undefined) return []
      const batch = { lines: open, start: from, end }
      open = []
      bytes = 0
      from = end
      return [batch]
    }
    const take = (line: InputLine): Stream.Stream<Batch, UnreadableLine> => {
      if (line.text.trim() === "") return Stream.empty
      const size = line.bytes
      const rule = size > BATCH_BYTES_MAX ? `is longer than ${BATCH_BYTES_MAX} bytes` : "is not valid JSON"
      if (size > BATCH_BYTES_MAX || !isJson(line.text))
        return Stream.concat(
          Stream.fromIterable(close()),
          Stream.fail(new UnreadableLine({ number: line.number, rule })),
        )
      const full = open.length === BATCH_MAX || bytes + size > BATCH_BYTES_MAX ? close() : []
      open.push(line)
      bytes += size
      return Stream.fromIterable(full)
    }
    return Stream.concat(
      Stream.flatMap(lines, take),
      Stream.suspend(() => Stream.fromIterable(close())),
    )
  })

/** The service's pointers, which begin with the place in the batch, as lines of the input. */
const asLines = (error: RemoteError, { lines }: Batch): RemoteError | LinesRefused => {
  if (error._tag !== "RecordsRefused" || error.issues.length === 0) return error
  return new LinesRefused({
    code: error.code,
    sentences: error.issues.map(({ pointer, message }) => {
      const [, at = "", ...rest] = pointer.split("/")
      const line = lines[Number(at)]?.number
      return line === undefined ? `${pointer} ${message}` : `Line ${line}: /${rest.join("/")} ${message}`
    }),
  })
}

/**
 * Imports a batch, again and again while the service is away: under one key, so that it is created once.
 *
 * @param key of the import; the batch's own place in the input is added
 * @fails {LinesRefused} when the service refuses records, naming their lines
 */
export const importBatch = Effect.fnUntraced(function* (collection: string, batch: Batch, key: string) {
  const remote = yield* RemoteRecords
  const body = batch.lines.map(({ text }) => `${text}\n`).join("")
  return yield* Effect.suspend(() => remote.importBatch(collection, body, `${key}.${batch.start}`)).pipe(
    Effect.retry({ while: isPassingRemote, schedule: AGAIN }),
    Effect.mapError((error) => asLines(error, batch)),
  )
})

/**
 * Every record of a collection as a line, over as many connections as it takes: each goes on after the last whole line.
 *
 * @param after an id, or 0 for the beginning
 */
export const exportLines = (collection: string, after: number): Stream.Stream<string, RemoteError, RemoteRecords> =>
  Stream.suspend(() => {
    let last = after
    return Stream.unwrap(
      Effect.map(RemoteRecords, (remote) => Stream.suspend(() => remote.export(collection, last))),
    ).pipe(
      Stream.map((line) => {
        last = Number((JSON.parse(line) as { readonly id: number }).id)
        return line
      }),
      Stream.retry(
        AGAIN.pipe(
          Schedule.setInputType<RemoteError>(),
          Schedule.while(({ input }) => isPassingRemote(input)),
        ),
      ),
    )
  })
