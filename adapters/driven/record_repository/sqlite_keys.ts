// Keys of creates in SQLite, written in the transaction of the create itself.
import type { DatabaseSync } from "node:sqlite"
import { type Created, type CreateKey, KEY_LIFE_MS, KEYS_MAX } from "../../../domain/records/create_key.ts"

/** The table of the keys. */
export const KEY_TABLES = `
  CREATE TABLE IF NOT EXISTS create_keys (
    collection TEXT NOT NULL,
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    first_id INTEGER NOT NULL,
    PRIMARY KEY (collection, caller, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS create_keys_by_time ON create_keys (at_ms);
  CREATE INDEX IF NOT EXISTS create_keys_by_caller ON create_keys (collection, caller, at_ms);`

/** Keys that are remembered between two looks at which ones to forget. */
const FORGET_EVERY = 256

/** Remembers what was made under which key; `find` and `remember` are called inside a transaction. */
export const sqliteKeys = (db: DatabaseSync) => {
  const find = db.prepare(
    "SELECT digest, at_ms, first_id FROM create_keys WHERE collection = ? AND caller = ? AND key = ? AND at_ms > ?",
  )
  const remember = db.prepare("INSERT OR REPLACE INTO create_keys VALUES (?, ?, ?, ?, ?, ?)")
  const forgetOld = db.prepare("DELETE FROM create_keys WHERE at_ms <= ?")
  const forgetSurplus = db.prepare(
    `DELETE FROM create_keys WHERE collection = ?1 AND caller = ?2 AND at_ms <= (
       SELECT at_ms FROM create_keys WHERE collection = ?1 AND caller = ?2 ORDER BY at_ms DESC LIMIT 1 OFFSET ${KEYS_MAX})`,
  )
  let remembered = 0
  return {
    /** What an earlier call with the key gave; undefined for a key that is new or forgotten. */
    find: (collection: string, { caller, key, digest, atMs }: CreateKey): Created | "reused" | undefined => {
      const row = find.get(collection, caller, key, atMs - KEY_LIFE_MS)
      if (row === undefined) return undefined
      return row["digest"] === digest ? { firstId: Number(row["first_id"]), firstAtMs: Number(row["at_ms"]) } : "reused"
    },
    /** Remembers the key, and now and then forgets those that are too old or too many. */
    remember: (collection: string, { caller, key, digest, atMs }: CreateKey, firstId: number): void => {
      remember.run(collection, caller, key, digest, atMs, firstId)
      if (remembered++ % FORGET_EVERY !== 0) return
      forgetOld.run(atMs - KEY_LIFE_MS)
      forgetSurplus.run(collection, caller)
    },
  }
}
