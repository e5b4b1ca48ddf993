// What the compiler and the linter cannot say about the text itself. Each rule names the replacement and has a failing sample.
import { describe, expect, test } from "bun:test"
import { posix } from "node:path"
import { importsOf, type SourceFile, sourceFile, sourceFiles } from "./source_tree.ts"

interface Ban {
  readonly text: RegExp
  readonly where: RegExp
  readonly except?: RegExp
  readonly instead: string
  readonly sample: readonly [path: string, text: string]
}

const BANS: ReadonlyArray<Ban> = [
  {
    text: /\b(Date\.now\(|new Date\(\)|setTimeout\(|setInterval\()/,
    where: /^(domain|application)\//,
    instead: "Effect's Clock, Effect.sleep, Schedule",
    sample: ["application/a.ts", "const at = Date.now()"],
  },
  {
    text: /\b(process|Bun|Deno)\.env\b/,
    where: /^(domain|application|adapters|bootstrap|stack)\//,
    except: /^bootstrap\/(config|main)\.ts$/,
    instead: "a field of Config",
    sample: ["adapters/driven/a/mongo.ts", "const url = process.env.URL"],
  },
  {
    text: /\bconsole\./,
    where: /^(domain|application|adapters|bootstrap|stack)\//,
    instead: "Effect.log, or the command line's output",
    sample: ["application/a.ts", "console.log(1)"],
  },
  {
    text: /\bfetch\(/,
    where: /^adapters\/driven\//,
    except: /^adapters\/driven\/http_exchange\.ts$/,
    instead: "send() of http_exchange.ts",
    sample: ["adapters/driven/a/http.ts", "await fetch(url)"],
  },
  {
    text: /import\s*\{[^}]*\bSchema\b[^}]*\}\s*from\s*"effect"/,
    where: /./,
    except: /^tests\/architecture\//,
    instead: "TypeBox, the one schema language",
    sample: ["domain/a/a.ts", 'import { Schema } from "effect"'],
  },
  {
    text: /\bas any\b|@ts-(ignore|nocheck)|\b(test|describe|it)\.only\(|\b(FIXME|XXX)\b/,
    where: /./,
    except: /^tests\/architecture\//,
    instead: "a type, a fix, or an issue",
    sample: ["domain/a/a.ts", "const x = y as any"],
  },
  {
    text: /import\(\s*[^"'\s)]/,
    where: /^(domain|application|adapters)\//,
    instead: "an import the law can read",
    sample: ["application/a.ts", "await import(name)"],
  },
]

const EXPORT = /^export (?:abstract )?(?:async )?(?:const|class|interface|type|function) (?!\{)(\w+)/

/** Exports of the product without a docstring right above them. */
const undocumented = (files: ReadonlyArray<SourceFile>): ReadonlyArray<string> =>
  files
    .filter(({ path }) => !/^tests\/|_pb\.ts$/.test(path))
    .flatMap(({ path, text }) => {
      const lines = text.split("\n")
      return lines.flatMap((line, at) => {
        const name = EXPORT.exec(line)?.[1]
        return name === undefined || lines[at - 1]?.trimEnd().endsWith("*/") ? [] : [`${path}: ${name}`]
      })
    })

const NAMELESS = /(^|\/)(utils?|helpers?|common|misc|manager|index)(_\w+)?\.ts$/
const LINES_MAX = 350

const breaches = (files: ReadonlyArray<SourceFile>): ReadonlyArray<string> =>
  files.flatMap((file) =>
    BANS.filter((ban) => ban.where.test(file.path) && !ban.except?.test(file.path) && ban.text.test(file.code)).map(
      (ban) => `${file.path}: ${ban.text.exec(file.code)?.[0]}: use ${ban.instead}`,
    ),
  )

/** Files nobody imports and nobody starts. */
const dead = (files: ReadonlyArray<SourceFile>, entries: RegExp): ReadonlyArray<string> => {
  const imported = new Set(
    files.flatMap((file) => importsOf(file).map((module) => posix.join(posix.dirname(file.path), module))),
  )
  return files.map((file) => file.path).filter((path) => !imported.has(path) && !entries.test(path))
}

/** Started by a command, named in package.json's exports, or run by the test runner. */
const ENTRIES =
  /^(bootstrap\/(main|launcher|executable|build_image|records|client|scheduler|media|stack)\.ts|stack\/[\w/]*_main\.ts|tests\/architecture\/pure_platform\.d\.ts|tests\/(run|check|real)\.ts|tests\/(attacks|bench|examples)\/.*\.ts|tests\/pages\/screenshots\.ts|tests\/.*\.(test|process)\.ts)$/

describe("tidy", () => {
  const files = sourceFiles()

  test("no banned text", () => {
    expect(files.length).toBeGreaterThan(10)
    expect(breaches(files)).toEqual([])
  })

  test.each(BANS.map((ban) => [ban.instead, ban] as const))("catches what should be %s", (_instead, ban) => {
    expect(breaches([sourceFile(...ban.sample)])).toHaveLength(1)
  })

  test("every file has a subject in its name", () => {
    expect(files.map((file) => file.path).filter((path) => NAMELESS.test(path))).toEqual([])
    expect(NAMELESS.test("domain/records/utils.ts")).toBe(true)
  })

  test(`no file is longer than ${LINES_MAX} lines`, () => {
    const long = files.filter(
      (file) => file.text.split("\n").length > LINES_MAX && !/^tests\/|_pb\.ts$/.test(file.path),
    )
    expect(long.map((file) => file.path)).toEqual([])
  })

  test("every export says what it is", () => {
    expect(undocumented(files)).toEqual([])
    expect(undocumented([sourceFile("domain/a/a.ts", "export const a = 1")])).toEqual(["domain/a/a.ts: a"])
    expect(undocumented([sourceFile("domain/a/a.ts", "/** One. */\nexport const a = 1")])).toEqual([])
  })

  test("no file is dead", () => {
    expect(dead(files, ENTRIES)).toEqual([])
    expect(dead([sourceFile("domain/a/a.ts", "")], ENTRIES)).toEqual(["domain/a/a.ts"])
  })
})
