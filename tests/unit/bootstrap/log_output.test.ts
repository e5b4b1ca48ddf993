// The service's log: its two forms, its levels, and that no configured secret is in any line.
import { deepEqual, equal, match, ok } from "node:assert/strict"
import { describe, test } from "node:test"
import { Effect, Redacted } from "effect"
import { makeLog } from "../../../bootstrap/log_output.ts"

type Options = Parameters<typeof makeLog>[0]

const ANSWERED = {
  method: "GET",
  path: "/api/products/7",
  route: "/api/products/:id",
  status: 200,
  durationMs: 1.2345,
  requestId: "r-1",
}

const setUp = (config: Options) => {
  const lines: Array<string> = []
  const log = makeLog(config, { write: (line) => lines.push(line), flush: () => {} })
  return { lines, log, run: (program: Effect.Effect<void>) => Effect.runSync(Effect.provide(program, log.layer)) }
}

describe("the service's log", () => {
  test("writes a request as one object a line", () => {
    const { lines, log } = setUp({ LOG_LEVEL: "info", LOG_FORMAT: "json" })
    log.request(ANSWERED)
    const { time, ...line } = JSON.parse(lines[0] ?? "") as Record<string, unknown>
    equal(new Date(String(time)).toISOString(), time)
    deepEqual(line, {
      level: "INFO",
      message: "request",
      method: "GET",
      path: "/api/products/7",
      status: 200,
      durationMs: 1.23,
      requestId: "r-1",
    })
  })

  test("writes for a person", () => {
    const { lines, log } = setUp({ LOG_LEVEL: "info", LOG_FORMAT: "pretty" })
    log.request(ANSWERED)
    match(
      lines[0] ?? "",
      /^[\d:.]{12} INFO {2}request method=GET path=\/api\/products\/7 status=200 durationMs=1.23 requestId=r-1$/,
    )
  })

  test("leaves out what is below its level, of programs too", () => {
    const { lines, log, run } = setUp({ LOG_LEVEL: "warn", LOG_FORMAT: "json" })
    log.request(ANSWERED)
    run(Effect.logInfo("not this"))
    log.line("WARN", "this")
    run(Effect.logError("and this"))
    deepEqual(
      lines.map((line) => (JSON.parse(line) as { readonly message: string }).message),
      ["this", "and this"],
    )
  })

  test("writes the annotations and the cause of a program, on one line", () => {
    const { lines, run } = setUp({ LOG_LEVEL: "debug", LOG_FORMAT: "json" })
    run(
      Effect.sync(() => {
        throw new Error("boom")
      }).pipe(
        Effect.catchCause((cause) => Effect.logError("Unexpected failure", cause)),
        Effect.annotateLogs("requestId", "r-2"),
      ),
    )
    equal(lines.length, 1)
    const line = JSON.parse(lines[0] ?? "") as Record<string, unknown>
    deepEqual([line["message"], line["requestId"]], ["Unexpected failure", "r-2"])
    match(String(line["cause"]), /boom/)
  })

  for (const LOG_FORMAT of ["json", "pretty"] as const)
    test(`shows no configured secret in ${LOG_FORMAT}, nor what looks like one`, () => {
      const SCHEDULER_TOKEN = 's3cr&"t9x/t=ken'
      const MONGODB_URL = "mongodb://u:m0ng0@host/db"
      const { lines, log, run } = setUp({
        LOG_LEVEL: "debug",
        LOG_FORMAT,
        SCHEDULER_TOKEN: Redacted.make(SCHEDULER_TOKEN),
        MONGODB_URL: Redacted.make(MONGODB_URL),
      })
      log.request({ ...ANSWERED, path: `/scheduler/jobs/${encodeURIComponent(SCHEDULER_TOKEN)}` })
      log.line("ERROR", `It was ${SCHEDULER_TOKEN}`, { url: MONGODB_URL, text: JSON.stringify({ a: SCHEDULER_TOKEN }) })
      run(Effect.logError(new Error(`with ${MONGODB_URL} and eyJhbGciOiJub25lIn0.e30.c2ln`)))
      equal(lines.length, 3)
      ok(!/s3cr|t9x|m0ng0|eyJ/.test(lines.join("\n")), lines.join("\n"))
    })
})
