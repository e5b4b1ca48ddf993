// The library as its users get it: packed, unpacked elsewhere, imported by each runtime from outside the checkout.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import manifest from "../../package.json" with { type: "json" }

const ROOT = join(import.meta.dir, "../..")
let folder = ""

const run = (command: ReadonlyArray<string>, cwd: string) => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd, stdio: ["ignore", "pipe", "pipe"] })
  return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() }
}

/** A project whose `node_modules` holds the packed product beside the checkout's own dependencies. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portolan-package-"))
  // The types were checked by the step before the tests (`bun run check`), so that building need not do it again.
  const build = manifest.scripts.prepack.replace("tsc ", "tsc --noCheck --singleThreaded ")
  expect(run(["sh", "-c", `PATH=node_modules/.bin:$PATH; ${build}`], ROOT)).toMatchObject({ exitCode: 0, stdout: "" })
  const pack = ["npm", "pack", "--ignore-scripts", "--silent", "--pack-destination", folder]
  expect(run(pack, ROOT).exitCode).toBe(0)
  const modules = join(folder, "node_modules")
  mkdirSync(join(modules, "portolan"), { recursive: true })
  const [tarball = ""] = readdirSync(folder).filter((name) => name.endsWith(".tgz"))
  expect(run(["tar", "-xzf", tarball, "--strip-components=1", "-C", "node_modules/portolan"], folder).exitCode).toBe(0)
  for (const name of readdirSync(join(ROOT, "node_modules")))
    if (!name.startsWith(".")) symlinkSync(join(ROOT, "node_modules", name), join(modules, name))
  writeFileSync(join(folder, "package.json"), '{"type":"module","private":true}')
})

afterAll(() => {
  rmSync(folder, { recursive: true })
  rmSync(join(ROOT, "dist"), { recursive: true, force: true })
})

/** Each face, and a function it must export. */
const FACES: Readonly<Record<string, string>> = {
  portolan: "openRecords",
  "portolan/client": "createClient",
  "portolan/scheduler": "createScheduler",
  "portolan/media": "createMedia",
  "portolan/stack": "createStack",
}

const importing = (faces: ReadonlyArray<string>): string =>
  faces
    .map(
      (face, at) =>
        `import * as face${at} from "${face}"\nif (typeof face${at}.${FACES[face]} !== "function") throw new Error("${face}")`,
    )
    .join("\n")

describe("the packed library", () => {
  test("holds every face that package.json names, with types, and no source or test", () => {
    const faces = Object.keys(manifest.exports).filter((name) => name !== "./package.json")
    expect(faces.map((name) => name.replace(/^\./, "portolan")).sort()).toEqual(Object.keys(FACES).sort())
    const listing = run(["find", "node_modules/portolan", "-type", "f"], folder).stdout
    for (const face of Object.values(manifest.exports))
      if (typeof face !== "string") for (const path of Object.values(face)) expect(listing).toContain(path.slice(1))
    expect(listing).not.toMatch(/(?<!\.d)\.ts\n|\/tests\//)
  })

  test("imports under Bun and leaves nothing running", () => {
    writeFileSync(join(folder, "main.mjs"), importing(Object.keys(FACES)))
    expect(run([process.execPath, "main.mjs"], folder)).toMatchObject({ exitCode: 0, stdout: "", stderr: "" })
  })

  test("its command runs", () => {
    const main = join(folder, "node_modules/portolan", manifest.bin.portolan)
    expect(run([process.execPath, main, "--version"], folder)).toMatchObject({
      exitCode: 0,
      stdout: `${manifest.version}\n`,
    })
  })

  test("the Docker engine finds its Lua in it", () => {
    const module = join(folder, "node_modules/portolan/dist/stack/docker/guard.js")
    const script = `import { guardPlugin } from ${JSON.stringify(module)}
const { config } = guardPlugin({ socket: "/s", answerMs: 1, publicUrl: "http://h" })
process.stdout.write(Object.values(config).map(([text]) => text.includes("return function()")).join())`
    writeFileSync(join(folder, "guard.mjs"), script)
    expect(run([process.execPath, "guard.mjs"], folder)).toMatchObject({ exitCode: 0, stdout: "true,true,true" })
  })

  for (const [runtime, command, faces] of [
    ["Deno", ["deno@2.9.6", "run", "-A", "--node-modules-dir=manual"], Object.keys(FACES)],
    // The face that serves HTTP needs Bun or Deno.
    ["Node", ["node@22"], ["portolan/client", "portolan/scheduler", "portolan/media", "portolan/stack"]],
  ] as const)
    test(`its faces import, and its stack comes up, refuses what it should and goes down again under ${runtime}`, () => {
      const home = join(folder, `home-${runtime}`)
      const script = `stack-${runtime}.mjs`
      writeFileSync(
        join(folder, script),
        `${importing(faces)}
import { createStack } from "portolan/stack"
const stack = createStack({ home: ${JSON.stringify(home)} })
await stack.up({ proxyPort: 0, idpPort: 0, upstreamPort: 0 })
const { rows, asExpected } = await stack.check()
const different = rows.filter(({ outcome }) => outcome === "different")
const { state } = await stack.status()
const refused = await stack.up({ database: "postgres" }).catch((failure) => failure.code)
process.stdout.write(JSON.stringify({ state, different, many: asExpected > 300, refused, down: await stack.down() }))`,
      )
      const { exitCode, stdout, stderr } = run(["npx", "-y", ...command, script], folder)
      expect({ exitCode, error: exitCode === 0 ? "" : stderr, stdout }).toEqual({
        exitCode: 0,
        error: "",
        stdout: JSON.stringify({ state: "healthy", different: [], many: true, refused: "STACK_REFUSED", down: true }),
      })
    })
})
