import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Glob } from "bun"

const ROOT = join(import.meta.dir, "../..")

/** A source file: path from the root, text, and the text without comments. */
export interface SourceFile {
  readonly path: string
  readonly text: string
  readonly code: string
}

/** Blanks comments out, keeping line numbers; strings are kept, so `"https://x"` is not cut. */
const withoutComments = (text: string): string =>
  text.replace(
    /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g,
    (match, string) => (string === undefined ? match.replace(/[^\n]/g, " ") : match),
  )

export const sourceFile = (path: string, text: string): SourceFile => ({ path, text, code: withoutComments(text) })

/** Every TypeScript file of the product, tests included. */
export const sourceFiles = (): ReadonlyArray<SourceFile> =>
  ["domain", "application", "adapters", "bootstrap", "stack", "tests"]
    .flatMap((room) => [...new Glob(`${room}/**/*.ts`).scanSync(ROOT)])
    .sort()
    .map((path) => sourceFile(path, readFileSync(join(ROOT, path), "utf8")))

const IMPORT =
  /(?:^|[;\s}])(?:import|export)\s[^;"']*?from\s*["']([^"']+)["']|(?:^|[;\s])import\s*["']([^"']+)["']|\b(?:import|require)\s*\(\s*["']([^"']+)["']/g

/** Every module a file names: values, types, re-exports, dynamic imports, `require`. */
export const importsOf = (file: SourceFile): ReadonlyArray<string> =>
  [...file.code.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? "")
