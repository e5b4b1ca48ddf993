// The dependency law of the house: driving -> application -> domain <- driven; only bootstrap (and tests) see both sides.
// It reads text, because the transpiler drops type-only imports, and a type across the law is a breach all the same.
import { describe, expect, test } from "bun:test"
import { posix } from "node:path"
import { importsOf, type SourceFile, sourceFile, sourceFiles } from "./source_tree.ts"

interface Law {
  readonly room: RegExp
  /** Files of the product this room may import. */
  readonly files: RegExp
  /** Packages this room may import. */
  readonly packages: RegExp
}

const LAWS: ReadonlyArray<Law> = [
  { room: /^domain\//, files: /^domain\//, packages: /^(effect|typebox)(\/|$)/ },
  { room: /^application\//, files: /^(domain|application)\//, packages: /^effect(\/|$)/ },
  {
    room: /^adapters\/driven\//,
    files: /^(domain\/|adapters\/driven\/)/,
    packages: /^(effect|typebox|jose|mongodb|ofetch|lru-cache|redos-detector|node:[\w/]+)(\/|$)/,
  },
  {
    room: /^adapters\/driving\//,
    files: /^(domain|application|adapters\/driving)\//,
    packages: /^(effect|elysia|@elysiajs\/\w+|typebox|swagger-ui-dist|node:[\w/]+)(\/|$)/,
  },
  {
    room: /^stack\//,
    files: /^(domain|application|adapters\/driven|stack)\//,
    packages: /./,
  },
  { room: /^bootstrap\//, files: /^(domain|application|adapters|bootstrap|stack)\/|^package\.json$/, packages: /./ },
]

/** A technology package lives in the adapters named after it. */
const HOMES: ReadonlyArray<{ readonly packages: RegExp; readonly home: RegExp }> = [
  { packages: /^mongodb$/, home: /^adapters\/driven\/(\w+\/)?mongo(_\w+)?\.ts$/ },
  { packages: /^node:sqlite$/, home: /^(adapters\/driven\/(\w+\/)?sqlite(_\w+)?|stack\/sqlite_lock)\.ts$/ },
  { packages: /^bun:sqlite$/, home: /^$/ },
  { packages: /^ofetch$/, home: /^adapters\/driven\/http_exchange\.ts$/ },
  {
    packages: /^jose$/,
    home: /^(adapters\/driven\/token_verifier\/jose(_\w+)?|bootstrap\/demo_realm|stack\/[\w/]+)\.ts$/,
  },
  { packages: /^(elysia|@elysiajs\/\w+)$/, home: /^(adapters\/driving\/http|bootstrap|stack)\// },
  { packages: /^bun$/, home: /^(stack|bootstrap)\// },
  { packages: /^redos-detector$/, home: /^adapters\/driven\/pattern_judge\/redos_detector\.ts$/ },
  { packages: /^oidc-provider$/, home: /^stack\// },
]

const resolved = (from: string, module: string): string => posix.join(posix.dirname(from), module)

/** Files that import each other, directly or through others: each circle once, as `a -> b -> a`. */
const circles = (files: ReadonlyArray<SourceFile>): ReadonlyArray<string> => {
  const imports = new Map(
    files.map((file) => [
      file.path,
      importsOf(file)
        .filter((module) => module.startsWith("."))
        .map((module) => resolved(file.path, module)),
    ]),
  )
  const done = new Set<string>()
  const found: Array<string> = []
  const visit = (path: string, way: ReadonlyArray<string>): void => {
    if (way.includes(path)) found.push([...way.slice(way.indexOf(path)), path].join(" -> "))
    if (way.includes(path) || done.has(path)) return
    for (const next of imports.get(path) ?? []) visit(next, [...way, path])
    done.add(path)
  }
  for (const path of imports.keys()) visit(path, [])
  return found
}

/** Every import of `files` that the law forbids, as `file -> module`. */
const breaches = (files: ReadonlyArray<SourceFile>): ReadonlyArray<string> =>
  files.flatMap((file) => {
    if (file.path.startsWith("tests/")) return []
    const law = LAWS.find((each) => each.room.test(file.path))
    return importsOf(file)
      .filter((module) => {
        if (law === undefined) return true
        if (module.startsWith(".")) {
          const target = resolved(file.path, module)
          const crossesPorts =
            file.path.startsWith("adapters/driven/") &&
            target.split("/").length === 4 &&
            posix.dirname(target) !== posix.dirname(file.path)
          return !law.files.test(target) || crossesPorts || !/\.(ts|json)$/.test(target)
        }
        return (
          !law.packages.test(module) || HOMES.some((rule) => rule.packages.test(module) && !rule.home.test(file.path))
        )
      })
      .map((module) => `${file.path} -> ${module}`)
  })

describe("the dependency law", () => {
  test("holds in every file", () => {
    const files = sourceFiles()
    // A law that read nothing proves nothing.
    for (const law of LAWS.filter(({ room }) => room.source !== "^stack\\/"))
      expect(files.filter((file) => law.room.test(file.path)).length).toBeGreaterThan(0)
    expect(breaches(files)).toEqual([])
  })

  test.each([
    ["domain/a/a.ts", 'import type { B } from "../../adapters/driven/x/memory.ts"'],
    ["domain/a/a.ts", 'export * from "../../application/x.ts"'],
    ["domain/a/a.ts", 'const m = await import("mongodb")'],
    ["domain/a/a.ts", 'import { readFileSync } from "node:fs"'],
    ["application/a.ts", 'import * as m from "../adapters/driven/x/memory.ts"'],
    ["adapters/driven/a/memory.ts", 'import { x } from "../../driving/http/app.ts"'],
    ["adapters/driven/a/memory.ts", 'import { x } from "../b/memory.ts"'],
    ["adapters/driven/a/memory.ts", 'import { MongoClient } from "mongodb"'],
    ["adapters/driving/http/app.ts", 'import { x } from "../../driven/b/memory.ts"'],
    ["adapters/driving/cli/jobs.ts", 'import { Elysia } from "elysia"'],
    ["adapters/driving/http/app.ts", 'import type { Socket } from "bun"'],
    ["stack/gateway.ts", 'import { x } from "../bootstrap/config.ts"'],
    ["elsewhere/a.ts", 'import { x } from "effect"'],
  ])("refuses in %s: %s", (path, text) => {
    expect(breaches([sourceFile(path, text)])).toHaveLength(1)
  })

  test("no files import each other in a circle", () => {
    expect(circles(sourceFiles())).toEqual([])
    const circle = [
      sourceFile("domain/a.ts", 'import type { B } from "./b.ts"'),
      sourceFile("domain/b.ts", 'export * from "./a.ts"'),
    ]
    expect(circles(circle)).toEqual(["domain/a.ts -> domain/b.ts -> domain/a.ts"])
  })

  test("does not read comments or strings as imports", () => {
    expect(breaches([sourceFile("domain/a/a.ts", '// import { x } from "mongodb"\nconst s = "plain"')])).toEqual([])
  })
})
