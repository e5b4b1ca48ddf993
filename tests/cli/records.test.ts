// `portolan records` as a user runs it, against a service on a real socket.
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer } from "effect"
import * as memoryRecords from "../../adapters/driven/record_repository/memory.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { runHere } from "../support/command_here.ts"
import { endProcesses, runProcess } from "../support/service_process.ts"
import { startService, type TestService } from "../support/test_service.ts"

// A service on a real socket, on a machine under heavy load.
setDefaultTimeout(60_000)

const folder = mkdtempSync(join(tmpdir(), "portolan-records-cli-"))
const services: Array<TestService> = []
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await Promise.all([...services.map((each) => each.stop()), endProcesses()])
})

let files = 0
const fileOf = (text: string): string => {
  const path = join(folder, `${++files}.ndjson`)
  writeFileSync(path, text)
  return path
}

/** A store that fails calls of some numbers, of two methods; a create that fails may have been made. */
const flaky = (fails: {
  readonly list?: (call: number) => boolean
  readonly createAll?: (call: number) => boolean
}) => {
  const away = new StoreUnavailable({ store: { user: "u", host: "h", database: "d" }, reason: "gone" })
  const calls = { list: 0, createAll: 0 }
  const layer = Layer.effect(
    RecordRepository,
    Effect.gen(function* () {
      const repository = Context.get(yield* Layer.build(memoryRecords.layer), RecordRepository)
      return RecordRepository.of({
        ...repository,
        list: (collection, query) =>
          Effect.suspend(() => (fails.list?.(++calls.list) ? Effect.fail(away) : repository.list(collection, query))),
        createAll: (collection, records, key) =>
          Effect.andThen(
            repository.createAll(collection, records, key),
            Effect.suspend(() =>
              fails.createAll?.(++calls.createAll) ? Effect.fail(away) : repository.createAll(collection, records, key),
            ),
          ),
      })
    }),
  )
  return { layer, calls }
}

const start = async (repository = memoryRecords.layer as Layer.Layer<RecordRepository, StoreUnavailable>) => {
  const service = await startService({ repository })
  services.push(service)
  const environment = { RECORDS_URL: service.url, RECORDS_TOKEN: service.token("user") }
  return {
    ...service,
    environment,
    run: (...words: ReadonlyArray<string>) => runHere(["records", ...words], environment),
  }
}

const numbered = (count: number): string =>
  Array.from({ length: count }, (_, at) => `${JSON.stringify({ name: `item ${at}`, price: at })}\n`).join("")

const parsed = (text: string): ReadonlyArray<{ readonly id: number; readonly name: string }> =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

describe("portolan records", () => {
  test("creates, gets, lists and deletes, as text and as JSON", async () => {
    const { run } = await start()
    const made = await run("create", "products", fileOf('{"name":"Anchor chain","price":12.5}'), "--json")
    expect(made.code).toBe(0)
    expect(JSON.parse(made.stdout)).toEqual({ id: 1, name: "Anchor chain", price: 12.5 })
    await run("create", "products", fileOf('[{"name":"Buoy"},{"name":"Cleat"}]'))
    expect(JSON.parse((await run("get", "products", "2")).stdout)).toEqual({ id: 2, name: "Buoy", price: 0 })
    const { stdout } = await run("list", "products", "--start", "1", "--limit", "1")
    expect(stdout).toBe("ID  NAME  PRICE\n2   Buoy  0\n")
    expect(JSON.parse((await run("list", "products", "--json")).stdout)).toHaveLength(3)
    expect(JSON.parse((await run("delete", "products", "2")).stdout)).toMatchObject({ id: 2 })
    expect(await run("get", "products", "2")).toEqual({ code: 1, stdout: "", stderr: "No such record (404)\n" })
  })

  test("a key makes a create run twice create once", async () => {
    const { run } = await start()
    const file = fileOf('{"name":"a"}')
    const first = await run("create", "products", file, "--key", "order-17")
    expect(await run("create", "products", file, "--key", "order-17")).toEqual(first)
    expect(JSON.parse((await run("list", "products", "--json")).stdout)).toHaveLength(1)
  })

  test("says why it is refused, with the code for programs", async () => {
    const { run, url } = await start()
    const bad = await run("create", "products", fileOf('{"price":-1}'))
    expect([bad.code, bad.stdout]).toEqual([1, ""])
    expect(bad.stderr).toContain("(422): /name is required")
    const error = JSON.parse((await run("get", "products", "9", "--json")).stderr)
    expect(error).toEqual({ code: "RECORD_NOT_FOUND", message: "No such record (404)" })
    const stranger = await runHere(["records", "list", "products", "--url", url, "--json"])
    expect([stranger.code, JSON.parse(stranger.stderr).code]).toEqual([1, "UNAUTHENTICATED"])
    const nobody = await runHere(["records", "list", "products", "--url", "http://127.0.0.1:1", "--json"])
    expect([nobody.code, JSON.parse(nobody.stderr).code]).toEqual([1, "SERVICE_UNREACHABLE"])
  })

  test.each([
    [["get", "products", ".."]],
    [["get", "../admin", "1"]],
    [["list", "products", "--url", "ftp://h"]],
    [["list", "products", "--url", "http://user:pass@h"]],
    [["list", "products", "--start", "x"]],
  ])("%j is wrong usage", async (words) => {
    const { run } = await start()
    const { code, stderr } = await run(...words)
    expect(code).toBe(2)
    expect(stderr).not.toContain("pass@")
  })

  test("takes the token from a file, and shows it nowhere", async () => {
    const { url, token } = await start()
    const secret = token("user")
    const path = fileOf(`${secret}\n`)
    const run = await runHere(["records", "list", "products", "--url", url, "--token-file", path])
    expect(run).toEqual({ code: 0, stdout: "None\n", stderr: "" })
    const missing = await runHere(["records", "list", "products", "--url", url, "--token-file", `${path}.no`])
    expect([missing.code, missing.stderr]).toEqual([1, `${path}.no cannot be read\n`])
  })
})

describe("portolan records import", () => {
  test("imports a file in batches, and leaves no state behind", async () => {
    const { run, storeCalls } = await start()
    const file = fileOf(`${numbered(2500)}\n\n`)
    const before = storeCalls()
    const { code, stdout, stderr } = await run("import", "products", file)
    expect([code, stdout, stderr]).toEqual([0, "Imported 2500 records into products\n", ""])
    // Each batch is one call.
    expect(storeCalls() - before).toBe(3)
    expect(existsSync(`${file}.import.json`)).toBe(false)
    const { stdout: out } = await run("export", "products")
    expect(parsed(out).map(({ name }) => name)).toEqual(Array.from({ length: 2500 }, (_, at) => `item ${at}`))
  })

  test("a batch whose answer was lost is sent again, and made once", async () => {
    const store = flaky({ createAll: (call) => call === 2 })
    const { run } = await start(store.layer)
    expect((await run("import", "products", fileOf(numbered(2500)))).code).toBe(0)
    expect(store.calls.createAll).toBe(4)
    expect(parsed((await run("export", "products")).stdout)).toHaveLength(2500)
  })

  test("stops at a bad line, names it, and goes on there once it is good", async () => {
    const { run } = await start()
    const lines = numbered(1500).split("\n")
    lines[1200] = '{"name":"","price":-1}'
    const file = fileOf(lines.join("\n"))
    const refused = await run("import", "products", file, "--json")
    expect(refused.code).toBe(1)
    const { code, message } = JSON.parse(refused.stderr)
    expect(code).toBe("INVALID_RECORD")
    expect(message).toContain("Line 1201: /name")
    expect(message).toContain("Line 1201: /price")
    const state = JSON.parse(readFileSync(`${file}.import.json`, "utf8"))
    expect([state.lines, state.records]).toEqual([1000, 1000])
    const mended = lines.with(1200, '{"name":"mended","price":1}')
    writeFileSync(file, mended.with(990, '{"name":"other"}').join("\n"))
    const changed = await run("import", "products", file)
    expect(changed.code).toBe(2)
    expect(changed.stderr).toContain("has changed in the part of it that is imported")
    writeFileSync(file, mended.join("\n"))
    const elsewhere = await run("import", "ships", file)
    expect([elsewhere.code, elsewhere.stderr]).toEqual([2, expect.stringContaining("went to 'products'")])
    const resumed = await run("import", "products", file)
    expect([resumed.code, resumed.stdout]).toEqual([0, "Imported 1500 records into products\n"])
    const names = parsed((await run("export", "products")).stdout).map(({ name }) => name)
    expect([names.length, names[1200], new Set(names).size]).toEqual([1500, "mended", 1500])
  })

  test("that was broken off goes on, and makes no record twice", async () => {
    let away = true
    const store = flaky({ createAll: (call) => away && call >= 2 })
    const { run, environment } = await start(store.layer)
    const file = fileOf(numbered(2500))
    const child = runProcess(["records", "import", "products", file], { ...environment })
    const deadline = performance.now() + 60_000
    while (store.calls.createAll < 3 && performance.now() < deadline) await Bun.sleep(20)
    away = false
    // The process is still trying; another one is begun beside it, as after a crash.
    const resumed = await run("import", "products", file)
    expect(resumed.stderr).toContain("Going on after line 1000: 1000 records are imported")
    expect([resumed.code, resumed.stdout]).toEqual([0, "Imported 2500 records into products\n"])
    expect((await child).code).toBe(0)
    expect(parsed((await run("export", "products")).stdout)).toHaveLength(2500)
  }, 120_000)

  test.each([
    ["no JSON", "{", "Line 2 is not valid JSON"],
    ["too long", JSON.stringify({ name: "x".repeat(1_048_576) }), "Line 2 is longer than 1048576 bytes"],
  ])("names a line that is %s, and imports those before it", async (_what, line, message) => {
    const { run } = await start()
    const { code, stderr } = await run("import", "products", fileOf(`{"name":"a"}\n${line}\n{"name":"c"}\n`))
    expect([code, stderr]).toEqual([1, `${message}\n`])
    expect(parsed((await run("export", "products")).stdout)).toHaveLength(1)
  })
})

test("an input that is not there is said to be unreadable, and leaves no state", async () => {
  const { run } = await start()
  const file = join(folder, "nothing.ndjson")
  const { code, stderr } = await run("import", "products", file)
  expect([code, stderr]).toEqual([1, `${file} cannot be read, or its folder cannot be written to\n`])
  expect(existsSync(`${file}.import.json`)).toBe(false)
})

describe("portolan records export", () => {
  test("writes a file once, goes on with it, and leaves no half line", async () => {
    const { run } = await start()
    await run("import", "products", fileOf(numbered(1200)))
    const file = join(folder, "out.ndjson")
    expect((await run("export", "products", "--output", file)).stdout).toBe(
      `Exported 1200 records of products to ${file}\n`,
    )
    const whole = readFileSync(file, "utf8")
    expect(parsed(whole)).toHaveLength(1200)
    const again = await run("export", "products", "--output", file)
    expect([again.code, again.stderr]).toEqual([1, `${file} is there already, or cannot be made\n`])
    writeFileSync(file, whole.slice(0, whole.length / 2))
    const { stdout } = await run("export", "products", "--output", file, "--resume", "--json")
    expect(JSON.parse(stdout).records).toBeGreaterThan(500)
    expect(readFileSync(file, "utf8")).toBe(whole)
    expect(parsed((await run("export", "products", "--after", "1100")).stdout)).toHaveLength(100)
  })

  test("goes on after the last whole line when the connection breaks", async () => {
    const store = flaky({ list: (call) => call === 3 || call === 6 })
    const { run } = await start(store.layer)
    await run("import", "products", fileOf(numbered(3500)))
    const { code, stdout } = await run("export", "products")
    expect(code).toBe(0)
    expect(parsed(stdout).map(({ id }) => id)).toEqual(Array.from({ length: 3500 }, (_, at) => at + 1))
  })
})
