// A folder in which the documents' commands and samples run as a reader would run them: the realm's key is there, the library
// can be imported by its name, and `portolan` is on the PATH.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import manifest from "../../package.json" with { type: "json" }
import { KEYS, pemOf, tokenKit } from "../support/tokens.ts"
import { AGENT_TOKEN } from "./agent_with_jobs.ts"
import { ROOT } from "./pages.ts"

/** The source of each face of the library, by its name. */
const FACES: Readonly<Record<string, ReadonlyArray<string>>> = Object.fromEntries(
  Object.entries(manifest.exports).flatMap(([name, face]) =>
    typeof face === "string"
      ? []
      : [
          [
            name.replace(/^\./, manifest.name),
            [join(ROOT, face.default.replace("./dist/", "").replace(/\.js$/, ".ts"))],
          ],
        ],
  ),
)

/** As strict as a reader's own project may be, but for `process.env.NAME`, which every handbook writes. */
const TSCONFIG = {
  extends: join(ROOT, "tsconfig.json"),
  compilerOptions: {
    noPropertyAccessFromIndexSignature: false,
    paths: FACES,
    typeRoots: [join(ROOT, "node_modules/@types")],
  },
  include: ["*/*.ts", "*.ts"],
  exclude: [],
}

export interface ReaderFolder {
  readonly folder: string
  /** Of a caller with every role that the documents name. */
  readonly token: string
  /** Gone with everything in it. */
  readonly remove: () => void
}

/** Makes a folder that looks like a reader's. */
export const makeReaderFolder = (): ReaderFolder => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-pages-"))
  const put = (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o600 })
  put("realm.pem", pemOf(KEYS.realm().publicKey))
  put("agent.token", `${AGENT_TOKEN}\n`)
  put("client.secret", "secret-of-the-client\n")
  put("tsconfig.json", JSON.stringify(TSCONFIG))
  put("package.json", '{"type":"module","private":true}')
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"))
  mkdirSync(join(folder, "bin"))
  command(folder, "portolan", `exec '${process.execPath}' '${join(ROOT, "bootstrap/main.ts")}' "$@"`)
  const roles = ["harbour-master", "catalogue-admin", "operator", "publisher"]
  return {
    folder,
    token: tokenKit(Math.floor(Date.now() / 1000)).access({ realm_access: { roles } }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Puts a command of its own on the PATH of a reader's folder. */
export const command = (folder: string, name: string, line: string): void => {
  const path = join(folder, "bin", name)
  writeFileSync(path, `#!/bin/sh\n${line}\n`)
  chmodSync(path, 0o755)
}

/** What a program in a reader's folder gets from its environment. */
export const environmentIn = (
  { folder }: ReaderFolder,
  more: Readonly<Record<string, string>>,
): Readonly<Record<string, string | undefined>> => ({
  PATH: `${join(folder, "bin")}:${join(ROOT, "node_modules/.bin")}:${process.env["PATH"]}`,
  HOME: process.env["HOME"],
  ...more,
})
