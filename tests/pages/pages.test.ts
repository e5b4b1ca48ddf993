// What holds for every page: links lead somewhere, tables are complete, README is short, and every code block is executed or
// says why not.
import { describe, expect, test } from "bun:test"
import { existsSync, readFileSync, statSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { Effect } from "effect"
import { describeConfig, readConfig, VARIABLES, type VariableName } from "../../bootstrap/config.ts"
import manifest from "../../package.json" with { type: "json" }
import { blocksOf, codesIn, PAGES, pageAt, ROOT, tableOf } from "./pages.ts"

/** Languages whose blocks the other tests of this folder execute. */
const EXECUTED = ["sh", "ts", "json"]

const README_WORDS_MAX = 900
const PICTURE_BYTES_MAX = 150_000

/** The anchor that a heading gets. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, "")
    .replaceAll(" ", "-")

const anchorsIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading))

/** Links and pictures of a page that lead to no other site. */
const linksIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/\]\(([^)\s]+)\)|<img src="([^"]+)"/g)]
    .map(([, link, picture]) => link ?? picture ?? "")
    .filter((link) => !/^[a-z]+:/.test(link))

describe("every page", () => {
  test("is there", () => {
    for (const path of [
      "README.md",
      "SPECIFICATION.md",
      "DECISIONS.md",
      "CONTRIBUTING.md",
      "SECURITY.md",
      "bootstrap/README.md",
      "stack/README.md",
      "tests/README.md",
      "tests/bench/README.md",
      ...["records", "identity", "scheduler", "media"].map((area) => `domain/${area}/README.md`),
    ])
      expect(pageAt(path).text).toStartWith("# ")
  })

  test.each(PAGES.map(({ path, text }) => [path, text] as const))("%s: links lead somewhere", (path, text) => {
    const broken = linksIn(text).filter((link) => {
      const [file = "", anchor] = link.split("#")
      const target = file === "" ? path : normalize(join(dirname(path), file))
      if (!existsSync(join(ROOT, target))) return true
      return anchor !== undefined && !anchorsIn(readFileSync(join(ROOT, target), "utf8")).includes(anchor)
    })
    expect(broken).toEqual([])
  })

  test.each(PAGES.map((page) => [page.path, page] as const))("%s: code is executed, or says why not", (_path, page) => {
    const unknown = blocksOf(page).filter(
      ({ language, notExecuted }) => notExecuted === undefined && !EXECUTED.includes(language),
    )
    expect(unknown.map(({ text }) => text)).toEqual([])
  })
})

describe("README", () => {
  const { text } = pageAt("README.md")

  test(`has at most ${README_WORDS_MAX} words`, () => {
    expect(text.split(/\s+/).length).toBeLessThanOrEqual(README_WORDS_MAX)
  })

  test("leads to every page", () => {
    const reached = new Set<string>()
    const follow = (path: string): void => {
      if (reached.has(path)) return
      reached.add(path)
      for (const link of linksIn(pageAt(path).text)) {
        const target = normalize(join(dirname(path), link.split("#")[0] ?? ""))
        if (target.endsWith(".md")) follow(target)
      }
    }
    follow("README.md")
    expect(PAGES.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([])
  })

  test("shows pictures that are small", () => {
    const pictures = linksIn(text).filter((link) => /\.(png|svg)$/.test(link))
    expect(pictures.length).toBeGreaterThan(2)
    for (const picture of pictures) expect(statSync(join(ROOT, picture)).size).toBeLessThan(PICTURE_BYTES_MAX)
  })
})

describe("operations", () => {
  const { text } = pageAt("bootstrap/README.md")

  test("every variable with its default and its meaning, as `portolan config` prints it", () => {
    // `pretty` on a terminal, else `json`: the page says so below the table.
    const defaults = { ...describeConfig(Effect.runSync(readConfig({}))), LOG_FORMAT: null }
    const expected = (Object.keys(VARIABLES) as ReadonlyArray<VariableName>).map((name) => [
      `\`${name}\``,
      defaults[name] === null ? "" : `\`${defaults[name]}\``,
      VARIABLES[name].meaning,
    ])
    expect(tableOf(text, "Variable")).toEqual(expected)
  })

  test("a runbook for every code of a 5xx", () => {
    const known = new Set(tableOf(text, "Code").flatMap(([codes = ""]) => codesIn(codes)))
    const errors = tableOf(pageAt("adapters/driving/http/README.md").text, "Code")
    const failures = errors
      .filter(([, status = ""]) => /\b5\d\d\b/.test(status))
      .flatMap(([codes = ""]) => codesIn(codes))
    expect(failures.length).toBeGreaterThan(15)
    expect(failures.filter((code) => !known.has(code))).toEqual([])
  })
})

describe("decisions", () => {
  test("why each package is there, and no other", () => {
    const explained = tableOf(pageAt("DECISIONS.md").text, "Package").flatMap(([cell = ""]) => codesIn(cell))
    const { dependencies, peerDependencies, devDependencies } = manifest
    const named = Object.keys({ ...dependencies, ...peerDependencies, ...devDependencies })
    expect(explained.sort()).toEqual(named.filter((name) => !name.startsWith("@types/")).sort())
  })
})
