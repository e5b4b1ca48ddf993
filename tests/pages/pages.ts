// The documents: every page, and every code block on it.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Glob } from "bun"

export const ROOT = join(import.meta.dir, "../..")

export interface Page {
  /** From the root, such as `stack/README.md`. */
  readonly path: string
  readonly text: string
}

export interface CodeBlock {
  readonly page: string
  /** The word behind the fence. */
  readonly language: string
  readonly text: string
  /** What stands between the block and the one before it. */
  readonly before: string
  /** Why nobody executes it, when a comment right above says so. */
  readonly notExecuted?: string
}

const ROOMS = ["domain", "application", "adapters", "bootstrap", "stack", "tests"]

/** Every page of the product. */
export const PAGES: ReadonlyArray<Page> = ["*.md", ...ROOMS.map((room) => `${room}/**/*.md`)]
  .flatMap((pattern) => [...new Glob(pattern).scanSync(ROOT)])
  .filter((path) => !path.includes("node_modules/"))
  .sort()
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }))

/** The page at a path from the root. */
export const pageAt = (path: string): Page => {
  const found = PAGES.find((each) => each.path === path)
  if (found === undefined) throw new Error(`there is no page ${path}`)
  return found
}

const BLOCK = /^```(\w*)\n([\s\S]*?)^```$/gm
const MARKER = /<!-- not executed: ([^>]+) -->\n$/

/** The code blocks of a page, in its order. */
export const blocksOf = ({ path, text }: Page): ReadonlyArray<CodeBlock> => {
  let end = 0
  return [...text.matchAll(BLOCK)].map((match) => {
    const before = text.slice(end, match.index)
    end = match.index + match[0].length
    const notExecuted = MARKER.exec(before)?.[1]
    const block = { page: path, language: match[1] ?? "", text: match[2] ?? "", before }
    return notExecuted === undefined ? block : { ...block, notExecuted }
  })
}

/** Every block that is to be executed, of one language. */
export const executed = (language: string): ReadonlyArray<CodeBlock> =>
  PAGES.flatMap(blocksOf).filter((block) => block.language === language && block.notExecuted === undefined)

/** Cells of the rows below the head of the first table that begins with this cell. */
export const tableOf = (text: string, firstCell: string): ReadonlyArray<ReadonlyArray<string>> => {
  const lines = text.split("\n")
  const head = lines.findIndex((line) => line.startsWith(`| ${firstCell} |`))
  if (head < 0) throw new Error(`there is no table that begins with ${firstCell}`)
  const length = lines.slice(head + 2).findIndex((line) => !line.startsWith("|"))
  return lines.slice(head + 2, length < 0 ? undefined : head + 2 + length).map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  )
}

/** Code spans of a cell. */
export const codesIn = (cell: string): ReadonlyArray<string> =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code)
