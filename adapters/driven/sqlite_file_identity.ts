// Is the database file the one that it was? Asked while it is open, by inode and size, and when it is opened, by a stamp.
//
// Every opening, every close, and every minute with writes put a stamp into the database and then the same one into a small
// file beside it. A database that was emptied, cut off from its log, or replaced by an older copy has a lower stamp than the
// file beside it, another database has another id, and a removed one has none.
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from "node:fs"
import type { DatabaseSync } from "node:sqlite"
import { Data } from "effect"

/** The database file is not the one that it was. `message` says what happened and what to do. */
export class FileExchanged extends Data.TaggedError("FileExchanged")<{ readonly message: string }> {}

/** What a database says about itself. */
interface Stamp {
  /** A UUID, made with the database. */
  readonly id: string
  /** How often the database has been stamped. */
  readonly count: number
}

/** The file that holds the last stamp; `rm records.sqlite*` removes it with the database. */
const companionOf = (path: string): string => `${path}.portolan`

const COMPANION_REGEXP = /^([0-9a-f-]{36}) ([1-9][0-9]{0,15})\n$/

const refusal = (path: string, what: string) =>
  new FileExchanged({
    message: `${what}. Put the right file back, or remove '${companionOf(path)}' to go on with what is there`,
  })

const statOf = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false })

/** The stamp beside the database; `undefined` when there is none. */
const readCompanion = (path: string): Stamp | undefined => {
  if (statOf(companionOf(path)) === undefined) return undefined
  const [, id, count] = COMPANION_REGEXP.exec(readFileSync(companionOf(path), "utf8")) ?? []
  if (id === undefined) throw refusal(path, "the stamp beside the database cannot be read")
  return { id, count: Number(count) }
}

/**
 * Writes the stamp beside the database, once it has been committed in the database. Durable and whole, or not there at all.
 *
 * @param path the database file
 * @throws the file system's own error
 */
export const writeCompanion = (path: string, { id, count }: Stamp): void => {
  // Several processes may do this at once: each writes a file of its own, and the last one to rename it wins.
  const written = `${companionOf(path)}.${crypto.randomUUID()}`
  const file = openSync(written, "wx", 0o600)
  try {
    writeSync(file, `${id} ${count}\n`)
    fsyncSync(file)
    renameSync(written, companionOf(path))
  } finally {
    closeSync(file)
    rmSync(written, { force: true })
  }
}

/**
 * Refuses a database that has been removed or emptied. To be called before SQLite opens the file: SQLite takes an empty file
 * for a new database, and throws the log beside it away.
 *
 * @throws {FileExchanged} when the file beside it tells of a database that was there
 */
export const refuseLostFile = (path: string): void => {
  if ((statOf(path)?.size ?? 0) === 0 && readCompanion(path) !== undefined)
    throw refusal(path, "the database that was here has been removed or emptied")
}

/**
 * Stamps the database, inside a write transaction.
 *
 * @returns the new stamp, for {@link writeCompanion} after the commit
 * @throws {FileExchanged} when the database is another one than the file beside it tells of, or an older copy
 */
export const stamp = (db: DatabaseSync, path: string): Stamp => {
  db.exec("CREATE TABLE IF NOT EXISTS portolan_file (id TEXT NOT NULL, stamps INTEGER NOT NULL) STRICT")
  const row = db.prepare("SELECT id, stamps FROM portolan_file").get()
  const known = readCompanion(path)
  if (known !== undefined && (row?.["id"] !== known.id || Number(row["stamps"]) < known.count))
    throw refusal(path, "this is another database than was here, an older copy of it, or one that lost its last writes")
  if (row === undefined) db.prepare("INSERT INTO portolan_file VALUES (?, 0)").run(crypto.randomUUID())
  const { id, count } = db
    .prepare("UPDATE portolan_file SET stamps = stamps + 1 RETURNING id, stamps AS count")
    .get() as {
    id: string
    count: number
  }
  return { id, count }
}

/**
 * Watches the files of an open database: the main one, and its log, which holds what was committed last.
 *
 * @returns a check that costs two calls of stat(2), some microseconds
 * @throws {FileExchanged} by the check, while the paths do not lead to the files that were there when the watch began
 */
export const watchFile = (db: DatabaseSync, path: string): (() => void) => {
  const lost = () =>
    new FileExchanged({
      message:
        "the file was removed, replaced or cut off under the running service; put it back, or start the service anew",
    })
  const mustBe = (known: Stats | undefined, now: Stats | undefined) => {
    if (known !== undefined && (now?.ino !== known.ino || now.dev !== known.dev)) throw lost()
  }
  const sizeInPages = db.prepare("SELECT page_count * page_size AS size FROM pragma_page_count, pragma_page_size")
  const [main, log] = [statOf(path), statOf(`${path}-wal`)]
  let size = main?.size ?? 0
  return () => {
    const now = statOf(path)
    mustBe(main, now)
    mustBe(log, statOf(`${path}-wal`))
    // Only a VACUUM makes a database smaller, and then SQLite knows it to be as small as its file.
    const sizeNow = now?.size ?? 0
    if (sizeNow < size && sizeNow < Number(sizeInPages.get()?.["size"])) throw lost()
    size = sizeNow
  }
}
