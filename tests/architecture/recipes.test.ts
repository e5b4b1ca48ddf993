// The recipes and the way of a request, walked: what they name is there, and what they promise is so.
import { describe, expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { loadCollections } from "../../bootstrap/collections_file.ts"
import { importsOf, sourceFiles } from "./source_tree.ts"

const ROOT = join(import.meta.dir, "../..")
const files = sourceFiles()

const section = (page: string, title: string): string => {
  const [, text = ""] = readFileSync(join(ROOT, page), "utf8").split(`\n## ${title}\n`)
  return text.split("\n## ")[0] ?? ""
}

/** The way of a request, and every code of an error, are on the page of the HTTP edge. */
const EDGE = "adapters/driving/http/README.md"

/** Files that a text names in code spans, patterns such as `<port>` left out. */
const namedFiles = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/`([\w./-]+\/[\w./-]+\.(?:ts|md))`/g)].map(([, path = ""]) => path)

const rows = (text: string): ReadonlyArray<ReadonlyArray<string>> =>
  text
    .split("\n")
    .filter((line) => /^\| \d/.test(line))
    .map((line) => line.split("|").map((cell) => cell.trim()))

describe("the way of a request", () => {
  const hops = rows(readFileSync(join(ROOT, EDGE), "utf8"))

  test("names files that exist", () => {
    expect(hops.map(([, hop]) => Number(hop))).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    for (const [, , file = ""] of hops) {
      expect(namedFiles(file).length).toBeGreaterThan(0)
      for (const path of namedFiles(file)) expect([path, existsSync(join(ROOT, path))]).toEqual([path, true])
    }
  })
})

describe("how to add", () => {
  test("every file that a recipe names exists", () => {
    const named = namedFiles(section("CONTRIBUTING.md", "How to add"))
    expect(named.length).toBeGreaterThan(3)
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })

  test.each([
    ["README.md", "Your own records in a minute"],
    ["domain/records/README.md", "A record type in a file"],
  ])("a collection: the file of %s is served as it stands", async (page, title) => {
    const [, json = ""] = /```json\n([\s\S]*?)```/.exec(section(page, title)) ?? []
    const path = join(process.env["TMPDIR"] ?? "/tmp", `portolan-recipe-${process.pid}.json`)
    await Bun.write(path, json)
    const [ships] = await Effect.runPromise(loadCollections(path))
    await Bun.file(path).delete()
    expect(ships?.name).toBe("ships")
    expect(ships === undefined ? ships : Effect.runSync(ships.check({ name: "Vasa", length_m: 69 }))).toEqual({
      name: "Vasa",
      length_m: 69,
    })
  })

  test("an adapter: bootstrap or stack builds every one; one in memory may be for tests alone", () => {
    const ports = readdirSync(join(ROOT, "adapters/driven"), { withFileTypes: true }).filter((each) =>
      each.isDirectory(),
    )
    expect(ports.length).toBeGreaterThan(5)
    const isImported = (part: string, where: RegExp) =>
      files.some((file) => where.test(file.path) && importsOf(file).some((module) => module.includes(part)))
    for (const { name: port } of ports) {
      for (const technology of readdirSync(join(ROOT, "adapters/driven", port))) {
        const path = `adapters/driven/${port}/${technology}`
        const text = files.find((file) => file.path === path)?.code ?? ""
        if (!/export const layer\b/.test(text)) continue
        const isBuilt = isImported(`driven/${port}/${technology}`, /^(bootstrap|stack)\//)
        expect([path, isBuilt || technology === "memory.ts"]).toEqual([path, true])
      }
    }
  })

  test("an error: every code that a client can meet has a row in the table", () => {
    const table = section(EDGE, "Errors")
    const codes = files
      .filter(({ path }) =>
        /^(domain\/\w+\/(errors|graph_failure)|domain\/store_unavailable|adapters\/driving\/http\/http_refusal)\.ts$/.test(
          path,
        ),
      )
      .flatMap(({ code }) => [...code.matchAll(/"([A-Z]+(?:_[A-Z]+)+)"/g)].map(([, name = ""]) => name))
      .filter((name) => !/_SETUP$|_FAILED$/.test(name))
    expect(codes.length).toBeGreaterThan(30)
    expect([...new Set(codes)].filter((name) => !table.includes(`\`${name}\``))).toEqual([])
  })
})
