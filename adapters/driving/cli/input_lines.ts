import { createReadStream } from "node:fs"
import { Stream } from "effect"
import { type InputLine, UnreadableLine } from "../../../application/records/transfer.ts"
import type { CommandError } from "./command.ts"
import { UnreadableFile } from "./unreadable_file.ts"

/** Longest line that is gathered, bytes: whatever is longer is refused behind this. */
const LINE_BYTES_MAX = 2 ** 21

const NEW_LINE = 10

const decoded = (bytes: Uint8Array, number: number): string => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    throw new UnreadableLine({ number, rule: "is not valid UTF-8" })
  }
}

async function* read(path: string, bytes: number, lines: number): AsyncGenerator<InputLine> {
  let rest = Buffer.alloc(0)
  let [end, number] = [bytes, lines]
  const line = (content: Uint8Array, length: number): InputLine => {
    end += length
    number++
    return { text: decoded(content, number), number, bytes: content.length + 1, end }
  }
  const source = path === "-" ? process.stdin : createReadStream(path, { start: bytes })
  for await (const chunk of source) {
    let open = Buffer.concat([rest, chunk as Buffer])
    for (let at = open.indexOf(NEW_LINE); at >= 0; at = open.indexOf(NEW_LINE)) {
      yield line(open.subarray(0, at), at + 1)
      open = open.subarray(at + 1)
    }
    if (open.length > LINE_BYTES_MAX) throw new UnreadableLine({ number: number + 1, rule: "is too long" })
    rest = open
  }
  if (rest.length > 0) yield line(rest, rest.length)
}

/**
 * The lines of a file, or of standard input for `-`, a piece of it in memory at a time.
 *
 * @param from bytes and lines of the file to pass over
 */
export const inputLines = (
  path: string,
  from: { readonly bytes: number; readonly lines: number },
): Stream.Stream<InputLine, CommandError> =>
  Stream.fromAsyncIterable(
    { [Symbol.asyncIterator]: () => read(path, from.bytes, from.lines) },
    (failure): CommandError =>
      failure instanceof UnreadableLine ? failure : new UnreadableFile({ path, rule: "cannot be read" }),
  )
