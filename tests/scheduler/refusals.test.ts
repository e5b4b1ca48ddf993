// What the agent refuses and how: cases 23 to 41. Every case counts the requests the agent saw.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { Scheduler, SchedulerOptions } from "../../bootstrap/scheduler.ts"
import { type Answer, type FakeAgent, reply, replyJson, startFakeAgent } from "../support/fake_agent.ts"
import { failureOf, schedulerClients } from "../support/scheduler_clients.ts"

const TOKEN = "s3cr3t-token-value"

let fake: FakeAgent

beforeAll(async () => {
  fake = await startFakeAgent()
})
const client = schedulerClients(() => ({ baseUrl: fake.url, token: TOKEN }))
afterAll(() => fake.stop())

type Call = (scheduler: Scheduler) => Promise<unknown>
const get: Call = (scheduler) => scheduler.getDefinition("j")
const scale: Call = (scheduler) => scheduler.scaleJob("j", 1)
const run: Call = (scheduler) => scheduler.runJob({ ID: "j", Name: "j" })
const remove: Call = (scheduler) => scheduler.deleteJob("j")
const stats: Call = (scheduler) => scheduler.allocationStats("abc")

/** The error of a call whose requests are answered by the script, and how many there were. */
const failing = async (call: Call, answers: ReadonlyArray<Answer>, options: Partial<SchedulerOptions> = {}) => {
  const before = fake.requests.length
  fake.script(...answers)
  const error = await failureOf(call(client(options)))
  return { error, requests: fake.requests.length - before }
}

const VALIDATION = "1 error occurred:\n\t* Missing job datacenters\n\n"
const CONFLICT = "rpc error: Enforcing job modify index 5: job exists with conflicting job modify index: 9"

describe("refusals, each after one request", () => {
  test.each<[string, Call, Answer, Record<string, unknown>]>([
    [
      "23 get 404",
      get,
      reply(404, "job not found"),
      { code: "SCHEDULER_NOT_FOUND", body: "job not found", applied: "no" },
    ],
    ["24 scale 404", scale, reply(404, 'job "j" not found'), { code: "SCHEDULER_NOT_FOUND", status: 404 }],
    ["25 empty 404", get, reply(404), { code: "SCHEDULER_FOREIGN_ANSWER", body: "", applied: "unknown" }],
    [
      "25 a proxy's 404",
      scale,
      reply(404, "404 page not found\n"),
      { code: "SCHEDULER_FOREIGN_ANSWER", applied: "unknown", status: 404 },
    ],
    ["25 a page's 404", remove, reply(404, "<html>job not found</html>"), { code: "SCHEDULER_FOREIGN_ANSWER" }],
    ["25 an allocation's 404", stats, reply(404, 'Unknown allocation "abc"'), { code: "SCHEDULER_NOT_FOUND" }],
    ["25 a job's 404 to another question", stats, reply(404, "job not found"), { code: "SCHEDULER_FOREIGN_ANSWER" }],
    [
      "25 another route's 404",
      (scheduler) => scheduler.getDefinition("web/scale"),
      reply(404, "job not found"),
      { code: "SCHEDULER_FOREIGN_ANSWER" },
    ],
    ["26 permission", run, reply(403, "Permission denied"), { code: "SCHEDULER_DENIED", reason: "permission" }],
    ["27 token", get, reply(403, "ACL token not found"), { code: "SCHEDULER_DENIED", reason: "token" }],
    ["27 token expired (500)", stats, reply(500, "ACL token expired"), { code: "SCHEDULER_DENIED", reason: "token" }],
    [
      "28 prefixed",
      scale,
      reply(403, "rpc error: Permission denied"),
      { code: "SCHEDULER_DENIED", reason: "permission" },
    ],
    [
      "29 registration",
      run,
      reply(403, "Job registration, dispatch, and scale are disabled by the scheduler configuration"),
      { code: "SCHEDULER_DENIED", reason: "registration-disabled" },
    ],
    ["30 deployment", scale, reply(400, "job scaling blocked due to active deployment"), { code: "ACTIVE_DEPLOYMENT" }],
    [
      "31 policy",
      scale,
      reply(400, "group count was less than scaling policy minimum: 0 < 1"),
      { code: "SCHEDULER_REFUSED", body: "group count was less than scaling policy minimum: 0 < 1" },
    ],
    ["32 validation", run, reply(500, VALIDATION), { code: "INVALID_JOB", applied: "no" }],
    ["33 conflict", scale, reply(500, CONFLICT), { code: "JOB_INDEX_CONFLICT", applied: "no" }],
    ["34 no leader", get, reply(500, "rpc error: No cluster leader"), { code: "NO_LEADER", applied: "no" }],
    ["35 no leader", scale, reply(500, "No cluster leader"), { code: "NO_LEADER" }],
    ["36 no region", get, reply(500, "No path to region"), { code: "NO_REGION" }],
    ["37 unknown 500", run, reply(500, "boom"), { code: "SCHEDULER_FAILED", applied: "unknown" }],
    [
      "38 rate limit",
      scale,
      reply(429, "Your IP is issuing too many concurrent connections"),
      { code: "SCHEDULER_RATE_LIMITED" },
    ],
    ["40 unauthorized", get, reply(401, "Unauthorized"), { code: "SCHEDULER_DENIED", reason: "token" }],
    ["41 method", remove, reply(405, "Invalid method"), { code: "SCHEDULER_REFUSED", status: 405 }],
    [
      "short allocation id",
      stats,
      reply(500, "alloc lookup failed: index error: UUID must be 36 characters"),
      { code: "SCHEDULER_REFUSED" },
    ],
  ])("%s", async (_name, call, answer, expected) => {
    const { error, requests } = await failing(call, [answer])
    expect(error).toMatchObject(expected)
    expect(error).toBeInstanceOf(Error)
    expect(requests).toBe(1)
  })

  test.each([502, 503, 504])("39: %d from a proxy keeps at most 4 KiB of its page", async (status) => {
    const page = reply(status, `<html>${"x".repeat(9000)}</html>`, { "content-type": "text/html" })
    const { error, requests } = await failing(scale, [page])
    expect(error).toMatchObject({ code: "SCHEDULER_FAILED", applied: "unknown" })
    expect(String(error["body"]).length).toBe(4096)
    expect(requests).toBe(1)
  })
})

describe("retries, when asked for", () => {
  const job = replyJson({ ID: "j", Name: "j" })
  const noLeader = reply(500, "rpc error: No cluster leader")

  test.each<[string, Call, ReadonlyArray<Answer>, number]>([
    ["34: a read", get, [noLeader, noLeader, job], 3],
    ["35: a scaling", scale, [noLeader, noLeader, job], 3],
    ["38: after a rate limit", run, [reply(429, "slow down"), job], 2],
    ["a read after an unknown end", get, [reply(503, "<html>"), job], 2],
  ])("%s is repeated until it passes", async (_name, call, answers, expected) => {
    const before = fake.requests.length
    fake.script(...answers)
    await call(client({ retries: 3 }))
    expect(fake.requests.length - before).toBe(expected)
  })

  test.each<[string, Call, Answer, string]>([
    ["a change with an unknown end", run, reply(503, "<html>"), "SCHEDULER_FAILED"],
    ["a refusal", scale, reply(400, "job scaling blocked due to active deployment"), "ACTIVE_DEPLOYMENT"],
    ["a denial", get, reply(403, "Permission denied"), "SCHEDULER_DENIED"],
    ["an invalid job", run, reply(500, VALIDATION), "INVALID_JOB"],
  ])("%s is not", async (_name, call, answer, code) => {
    const { error, requests } = await failing(call, [answer], { retries: 3 })
    expect(error["code"]).toBe(code)
    expect(requests).toBe(1)
  })

  test("they end with the last error", async () => {
    const { error, requests } = await failing(get, [noLeader, noLeader], { retries: 1 })
    expect(error["code"]).toBe("NO_LEADER")
    expect(requests).toBe(2)
  })
})

describe("secrets", () => {
  test("an agent that repeats the token does not get it into an error", async () => {
    const echo: Answer = (response, request) =>
      reply(400, `bad token ${request.headers["x-nomad-token"]}`)(response, request)
    const { error } = await failing(scale, [echo])
    for (const text of [
      String(error),
      (error as unknown as Error).stack,
      Bun.inspect(error, { depth: 10 }),
      JSON.stringify(error),
    ])
      expect(text).not.toContain(TOKEN)
    expect(error["body"]).toBe("bad token <redacted>")
  })
})
