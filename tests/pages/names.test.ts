// Names that the documents drop in passing: files, scripts, commands with their options, variables. All of them are there.
import { describe, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { VARIABLES } from "../../bootstrap/config.ts"
import manifest from "../../package.json" with { type: "json" }
import { runHere } from "../support/command_here.ts"
import { codesIn, PAGES, pageAt, ROOT, tableOf } from "./pages.ts"

/** Every code span of every page but the list of what changed, which speaks of the past. */
const SPANS = PAGES.filter(({ path }) => path !== "CHANGELOG.md").flatMap(({ path, text }) =>
  codesIn(text.replace(/^```[\s\S]*?^```$/gm, "")).map((code) => ({ path, code })),
)

const missing = (
  pattern: RegExp,
  isThere: (name: string) => boolean,
): { readonly named: number; readonly missing: ReadonlyArray<string> } => {
  const named = SPANS.flatMap(({ path, code }) =>
    [...code.matchAll(pattern)].map((match) => ({ path, name: match[1] ?? "" })),
  )
  return {
    named: named.length,
    missing: named.filter(({ name }) => !isThere(name)).map(({ path, name }) => `${path}: ${name}`),
  }
}

describe("the documents name", () => {
  test("files that exist", () => {
    const found = missing(
      /(?:^|[\s(])((?:domain|application|adapters|bootstrap|stack|tests)\/[\w./-]*\w\.\w+)/g,
      (path) => existsSync(join(ROOT, path)),
    )
    expect(found.named).toBeGreaterThan(50)
    expect(found.missing).toEqual([])
  })

  test("scripts that exist", () => {
    const found = missing(/\b(?:npm|bun) run (?!--)([\w:]+)/g, (name) => name in manifest.scripts)
    expect(found.named).toBeGreaterThan(8)
    expect(found.missing).toEqual([])
  })

  test("variables and codes that exist", () => {
    const codes = tableOf(pageAt("adapters/driving/http/README.md").text, "Code").flatMap(([cell = ""]) =>
      codesIn(cell),
    )
    const found = missing(
      /^((?:AUTH|DB|GRAPH|IDP|MEDIA|MONGODB|SCHEDULER|SQLITE|MAX)_[A-Z0-9_]*[A-Z0-9])(?:=.*)?$/g,
      (name) => name in VARIABLES || codes.includes(name) || ["MAX_IN", "MAX_FEED"].includes(name),
    )
    expect(found.named).toBeGreaterThan(40)
    expect(found.missing).toEqual([])
  })

  const commands = [
    ...new Set(SPANS.flatMap(({ code }) => (/^portolan [a-z]/.test(code) ? [code.replace(/^portolan /, "")] : []))),
  ]

  test("some commands", () => expect(commands.length).toBeGreaterThan(5))

  test.each(commands)("portolan %s, which exists with its options", async (line) => {
    const words = line.split(" ")
    const end = words.findIndex((word) => !/^[a-z][a-z-]*$/.test(word))
    const { code, stdout } = await runHere([...(end < 0 ? words : words.slice(0, end)), "--help"])
    expect(code).toBe(0)
    for (const option of line.match(/--[a-z-]+/g) ?? []) expect(stdout).toContain(`${option} `)
  })
})
