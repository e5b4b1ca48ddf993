// `npm run build:image [-- <tag> [<executable>]]`: the container image, by the Docker engine, from nothing but the executable
// and the libraries that it is linked with. No base image, so no registry.
import { copyFileSync, mkdirSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath, URL } from "node:url"
import { buildExecutable } from "./build_executable.ts"
import { VERSION } from "./version.ts"

const ROOT = fileURLToPath(new URL("..", import.meta.url))
const CONTEXT = join(ROOT, "build/image")

/** Paths of the libraries, as `ldd` lists them: `name => /path (address)`, and the loader as `/path (address)`. */
const librariesOf = (executable: string): ReadonlyArray<string> => {
  const { exitCode, stdout } = Bun.spawnSync(["ldd", executable])
  const paths = [...stdout.toString().matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)].map(([, path = ""]) => path)
  if (exitCode !== 0 || paths.length === 0)
    throw new Error("the image is built on Linux with glibc: ldd must list the executable's libraries")
  return paths
}

/** Fills the folders that the Dockerfile copies. */
const gather = (executable: string): void => {
  for (const path of librariesOf(executable)) {
    const copy = join(CONTEXT, "root", path)
    mkdirSync(dirname(copy), { recursive: true })
    copyFileSync(path, copy)
  }
  // The folder of the state: empty, and the user's own.
  mkdirSync(join(CONTEXT, "data"))
}

const [asked, given] = process.argv.slice(2)
const tag = asked ?? `portolan:${VERSION}`
rmSync(CONTEXT, { recursive: true, force: true })
mkdirSync(join(CONTEXT, "root"), { recursive: true })
const executable = join(CONTEXT, "root/portolan")
if (given === undefined) await buildExecutable(executable)
else copyFileSync(given, executable)
gather(executable)
const label = `org.opencontainers.image.version=${VERSION}`
const words = [
  "build",
  "--quiet",
  "--tag",
  tag,
  ...(asked === undefined ? ["--tag", "portolan:latest"] : []),
  "--label",
  label,
  "--file",
  join(ROOT, "Dockerfile"),
  CONTEXT,
]
const { exitCode } = Bun.spawnSync(["docker", ...words], { stdio: ["ignore", "ignore", "inherit"] })
if (exitCode === 0) process.stdout.write(`${tag}\n`)
process.exitCode = exitCode
