import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { Effect } from "effect"
import type { Line } from "../../domain/gateway/route_profile.ts"
import { StackFailed, StackRefused } from "../errors.ts"
import { bunPath, isExecutable, siblingOf } from "../program.ts"
import { redact } from "../service_log.ts"
import { type StackState, stackFiles } from "../state.ts"
import { dockerFiles } from "./files.ts"
import { PLATFORMS } from "./images.ts"

interface Ran {
  readonly exitCode: number
  readonly out: string
  readonly err: string
}

/** Runs a program and gathers what it says; one that cannot be started counts as 127, as in a shell. */
const run = (program: string, words: ReadonlyArray<string>): Effect.Effect<Ran> =>
  Effect.callback((resume) => {
    const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"] })
    let [out, err] = ["", ""]
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString()
    })
    child.stderr.on("data", (chunk: Buffer) => {
      err += chunk.toString()
    })
    child.once("error", ({ message }) => resume(Effect.succeed({ exitCode: 127, out, err: message })))
    child.once("close", (code) => resume(Effect.succeed({ exitCode: code ?? 1, out, err })))
    return Effect.sync(() => child.kill())
  })

/** Lines of a tool's output that an error shows. */
const LINES_SHOWN = 20

const tail = ({ out, err }: Ran): ReadonlyArray<string> =>
  `${out}\n${err}`.trim().split("\n").slice(-LINES_SHOWN).map(redact)

const composeWords = (home: string, project: string, ...words: ReadonlyArray<string>): ReadonlyArray<string> => [
  "compose",
  "--project-name",
  project,
  "--file",
  join(stackFiles(home).docker, "compose.yml"),
  ...words,
]

const compose = (home: string, project: string, ...words: ReadonlyArray<string>): Effect.Effect<Ran> =>
  run("docker", composeWords(home, project, ...words))

/** Name of the compose project of a home folder. */
export const projectOf = (home: string): string =>
  `portolan-${createHash("sha256").update(home).digest("hex").slice(0, 12)}`

/**
 * Finds out whether the engine can be used at all, before anything is written.
 *
 * @fails {StackRefused} when Docker or its compose plugin does not answer
 */
export const requireDocker = Effect.gen(function* () {
  for (const words of [
    ["version", "--format", "{{.Server.Version}}"],
    ["compose", "version"],
  ]) {
    const { exitCode } = yield* run("docker", words)
    if (exitCode !== 0)
      return yield* new StackRefused({
        reasons: [`\`docker ${words[0]}\` does not answer: the docker engine needs it`],
      })
  }
})

const ENTRY = siblingOf(import.meta.url, "../plugin/gate_main")

/**
 * What `bun build --compile` makes the binary for: the system of the containers (Linux with glibc), whatever this machine is.
 *
 * @param architecture of the containers, as Docker names it
 * @param own architecture of this machine, as Node names it: another one's processors may be emulated, and emulators know only
 *   the older instructions
 */
export const binaryTarget = (architecture: string, own: string): string => {
  if (architecture !== "amd64") return "bun-linux-arm64"
  return own === "x64" ? "bun-linux-x64" : "bun-linux-x64-baseline"
}

/** The single executable holds the plugin server already, for its own system: under the name `gate` it runs as that. */
const copyGate = Effect.fnUntraced(function* (target: string, outfile: string) {
  const own = `bun-${process.platform}-${process.arch}`
  if (own !== target)
    return yield* new StackFailed({
      part: "gateway",
      reason: `its plugin server must run on ${target.replace("bun-", "")}, which this executable is not made for; use the npm package`,
      log: [],
    })
  copyFileSync(process.execPath, outfile)
  chmodSync(outfile, 0o755)
})

/** Provides the plugin server as one binary for the containers. */
const buildGate = Effect.fnUntraced(function* (line: Line, outfile: string) {
  const platform =
    PLATFORMS[line] ?? (yield* run("docker", ["version", "--format", "linux/{{.Server.Arch}}"])).out.trim()
  const target = binaryTarget(platform.replace("linux/", ""), process.arch)
  if (isExecutable()) return yield* copyGate(target, outfile)
  const built = yield* run(bunPath(), [
    "build",
    "--compile",
    "--minify",
    `--target=${target}`,
    ENTRY,
    "--outfile",
    outfile,
  ])
  if (built.exitCode !== 0)
    return yield* new StackFailed({ part: "gateway", reason: "its plugin server could not be built", log: tail(built) })
})

/** Writes what the containers are made from and start with, into a folder only its owner can enter. */
const writeFiles = (home: string, state: StackState): void => {
  const folder = stackFiles(home).docker
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
  for (const [path, text] of dockerFiles(state)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    // The containers' users are others; the folder around keeps everybody else out.
    writeFileSync(join(folder, path), text, { mode: 0o644 })
  }
}

/**
 * Starts the containers.
 *
 * @fails {StackFailed} with the last words of the tool when an image cannot be had or a container does not start
 */
export const startContainers = Effect.fnUntraced(function* (home: string, state: StackState) {
  writeFiles(home, state)
  yield* buildGate(state.options.gateway, join(stackFiles(home).docker, "gate"))
  const started = yield* compose(home, projectOf(home), "up", "--detach", "--build", "--remove-orphans")
  if (started.exitCode !== 0)
    return yield* new StackFailed({ part: "docker", reason: "the containers did not start", log: tail(started) })
})

/**
 * Stops and removes the containers, their volumes and their network.
 *
 * @fails {StackFailed} when Docker does not do it
 */
export const stopContainers = Effect.fnUntraced(function* (home: string, project: string) {
  const stopped = yield* compose(home, project, "down", "--volumes", "--remove-orphans")
  if (stopped.exitCode !== 0)
    return yield* new StackFailed({ part: "docker", reason: "the containers could not be removed", log: tail(stopped) })
})

/**
 * Shows the last lines the containers wrote, secrets hidden, and with `follow` goes on until interrupted.
 *
 * @param show takes each line
 */
export const containerLogs = (
  home: string,
  project: string,
  { service, lines, follow }: { readonly service?: string; readonly lines: number; readonly follow: boolean },
  show: (line: string) => void,
): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const words = ["--no-color", "--tail", String(lines), ...(follow ? ["--follow"] : [])]
    const child = spawn(
      "docker",
      composeWords(home, project, "logs", ...words, ...(service === undefined ? [] : [service])),
      { stdio: ["ignore", "pipe", "ignore"] },
    )
    createInterface({ input: child.stdout }).on("line", (line) => show(redact(line)))
    child.once("error", () => resume(Effect.void))
    child.once("close", () => resume(Effect.void))
    return Effect.sync(() => child.kill())
  })
