import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { StackOptions } from "../domain/gateway/stack_options.ts"
import { isObject } from "../domain/json_object.ts"
import type { ProcessIdentity } from "./process_identity.ts"

/** The three services of every stack. The Docker engine may add a database. */
export const SERVICES = ["upstream", "idp", "gateway"] as const
/** One service. */
export type Service = (typeof SERVICES)[number]

/** Secrets that every `up` makes anew. They are in the state file and in the processes' memory and nowhere else. */
export interface StackSecrets {
  /** Proves to a service that the stack is asking, and to the stack that its own service answers. */
  readonly control: string
  readonly userPassword: string
  readonly webClient: string
  readonly serviceClient: string
  /** Private signing key of the realm, as a JWK: `check` makes broken tokens with it. */
  readonly signingKey: Readonly<Record<string, unknown>>
}

/** What `up` started, as the file `stack.json` holds it. */
export interface StackState {
  readonly version: 1
  readonly phase: "starting" | "ready" | "degraded"
  /** Options with the ports really taken. */
  readonly options: StackOptions
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly urls: { readonly proxy: string; readonly idp: string; readonly upstream: string }
  readonly secrets: StackSecrets
  /** Processes of the embedded engine. */
  readonly processes: ReadonlyArray<{ readonly service: Service } & ProcessIdentity>
  /** Compose project of the Docker engine. */
  readonly project?: string
}

/** Files of the stack below the product's home folder. */
export const stackFiles = (home: string) => ({
  state: join(home, "stack.json"),
  lock: join(home, "stack.lock"),
  folder: join(home, "stack"),
  docker: join(home, "stack", "docker"),
  log: (service: string) => join(home, "stack", `${service}.log`),
})

const isState = (value: unknown): value is StackState => isObject(value) && value["version"] === 1 && "secrets" in value

/** The state as last written; `undefined` when there is none that can be read. */
export const readState = (home: string): StackState | undefined => {
  try {
    const value: unknown = JSON.parse(readFileSync(stackFiles(home).state, "utf8"))
    return isState(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Writes a file only its owner can read, whole or not at all. */
const writePrivate = (path: string, text: string): void => {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, text, { mode: 0o600 })
  chmodSync(draft, 0o600)
  renameSync(draft, path)
}

/** Writes the state file, readable by its owner alone, whole or not at all. */
export const writeState = (home: string, state: StackState): void => {
  mkdirSync(stackFiles(home).folder, { recursive: true, mode: 0o700 })
  writePrivate(stackFiles(home).state, `${JSON.stringify(state, undefined, 2)}\n`)
}

/** Removes the state file, if there is one. */
export const removeState = (home: string): void => rmSync(stackFiles(home).state, { force: true })
