// What the code cites is there: a section of SPECIFICATION.md, and no paper that a reader does not have.
import { describe, expect, test } from "bun:test"
import { sourceFiles } from "../architecture/source_tree.ts"
import { PAGES, pageAt } from "./pages.ts"

/** Papers that only their authors had. A number behind the word is a citation of one. */
const PAPERS =
  /\bseed'?s? (?:section|\d|area|says)|\bthe seed\b|\bcontract'?s? sections? \d|\b(?:gateway|wire) notes\b/i

describe("the specification", () => {
  const sections = [...pageAt("SPECIFICATION.md").text.matchAll(/^#{2,3} (\d+(?:\.\d+)?)\.? /gm)].map(
    ([, at = ""]) => at,
  )
  const files = sourceFiles().filter(({ path }) => path !== "tests/pages/citations.test.ts")

  test("has every section that the code cites", () => {
    const cited = files.flatMap(({ path, text }) =>
      [...text.matchAll(/\bspecification (\d+(?:\.\d+)?)/g)].map(([, at = ""]) => ({ path, at })),
    )
    expect(cited.length).toBeGreaterThan(50)
    // 5.1 is the first rule of section 5.
    const known = ({ at }: { readonly at: string }) =>
      sections.includes(at) || sections.includes(at.split(".")[0] ?? "")
    expect(cited.filter((each) => !known(each))).toEqual([])
  })

  test("is the only paper of its kind that is cited", () => {
    const texts = [...files, ...PAGES].flatMap(({ path, text }) =>
      text.split("\n").flatMap((line, at) => (PAPERS.test(line) ? [`${path}:${at + 1}: ${line.trim()}`] : [])),
    )
    expect(texts).toEqual([])
    for (const line of ["@see seed 4.1", "the seed's table", "contract section 2", "gateway notes section 3"])
      expect(line).toMatch(PAPERS)
  })
})
