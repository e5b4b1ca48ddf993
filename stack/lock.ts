import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { identify, isRunning, type ProcessIdentity } from "./process_identity.ts"

const ownerOf = (path: string): ProcessIdentity | undefined => {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as ProcessIdentity
  } catch {
    return undefined
  }
}

const isHeld = (path: string): boolean => {
  const owner = ownerOf(path)
  return owner !== undefined && isRunning(owner)
}

/** Takes the lock by a hard link, which appears with its whole content and fails when the path is there already. */
const linked = (draft: string, path: string): boolean => {
  try {
    linkSync(draft, path)
    return true
  } catch {
    return false
  }
}

/** Removes the lock of an owner that has ended. If another process has taken it meanwhile, that lock is put back. */
const clearDead = (path: string): void => {
  const aside = `${path}.${process.pid}.dead`
  try {
    renameSync(path, aside)
  } catch {
    return
  }
  if (isHeld(aside)) linked(aside, path)
  rmSync(aside, { force: true })
}

/**
 * Takes a lock file, also from an owner that has ended.
 *
 * @returns what gives it back, or `undefined` while another process holds it
 */
export const takeLock = (path: string): (() => void) | undefined => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  if (!isHeld(path)) clearDead(path)
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, JSON.stringify(identify(process.pid)), { mode: 0o600 })
  const taken = linked(draft, path)
  rmSync(draft, { force: true })
  return taken ? () => rmSync(path, { force: true }) : undefined
}
