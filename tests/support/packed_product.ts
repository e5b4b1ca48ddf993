// The product as its users get it: packed, and installed into projects of its users.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const ROOT = join(import.meta.dir, "../..")

/** Of this process's environment, what programs need to run. */
const ENVIRONMENT = { PATH: process.env["PATH"], HOME: process.env["HOME"] }

interface Ended {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command to its end. */
export const run = async (
  command: ReadonlyArray<string>,
  cwd: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> => {
  const child = Bun.spawn([...command], {
    cwd,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...ENVIRONMENT, ...environment },
  })
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return { exitCode: await child.exited, stdout, stderr }
}

/** Runs a command that must succeed; gives what it printed. */
export const succeed = async (...args: Parameters<typeof run>): Promise<string> => {
  const { exitCode, stdout, stderr } = await run(...args)
  if (exitCode !== 0) throw new Error(`${args[0].join(" ")} ended with ${exitCode}:\n${stdout}${stderr}`)
  return stdout
}

export interface PackedProduct {
  readonly folder: string
  /** Path of the packed file. */
  readonly tarball: string
  /**
   * A copy of an example with the packed product installed in it. Nothing runs at installation, as under a package manager that
   * forbids it. Examples that depend on the same share one tree of packages.
   */
  readonly example: (name: string) => Promise<string>
  readonly remove: () => void
}

/** Packs the product. The types were checked by an earlier step, so that building need not do it again. */
export const packProduct = async (): Promise<PackedProduct> => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-package-"))
  await succeed(["node", "bootstrap/build_package.mjs", "--noCheck", "--singleThreaded"], ROOT)
  await succeed(["npm", "pack", "--ignore-scripts", "--silent", "--pack-destination", folder], ROOT)
  rmSync(join(ROOT, "dist"), { recursive: true, force: true })
  const tarball = join(folder, readdirSync(folder)[0] ?? "")

  const trees = new Map<string, Promise<string>>()
  const install = async (project: string): Promise<string> => {
    const npm = ["npm", "install", tarball, "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"]
    await succeed([...npm, "--loglevel=error"], project)
    return join(project, "node_modules")
  }
  const copies = new Map<string, Promise<string>>()
  const copy = async (name: string): Promise<string> => {
    const project = join(folder, name)
    cpSync(join(ROOT, "tests/examples", name), project, { recursive: true })
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(project, "package.json"), "utf8"))
    const wanted = JSON.stringify([dependencies, devDependencies])
    const tree = trees.get(wanted)
    if (tree !== undefined) symlinkSync(await tree, join(project, "node_modules"))
    else {
      trees.set(wanted, install(project))
      await trees.get(wanted)
    }
    return project
  }
  return {
    folder,
    tarball,
    example: (name) => {
      const project = copies.get(name) ?? copy(name)
      copies.set(name, project)
      return project
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
