// The scheduler's HTTP face: the whole service on a socket, and an agent on another.
import { afterAll, describe, expect, test } from "bun:test"
import { Layer, Redacted } from "effect"
import * as journal from "../../adapters/driven/restart_journal/memory.ts"
import * as httpScheduler from "../../adapters/driven/scheduler/http.ts"
import { makeResponder } from "../../adapters/driving/http/respond.ts"
import { schedulerRoutes } from "../../adapters/driving/http/scheduler_routes.ts"
import * as restarts from "../../application/scheduler/restarts.ts"
import { makeArea } from "../../bootstrap/area.ts"
import { RESTART_RULES } from "../../domain/scheduler/restart_plan.ts"
import { expectProblem } from "../support/expect_problem.ts"
import { reply, startFakeAgent } from "../support/fake_agent.ts"
import { sharedService, startService } from "../support/test_service.ts"

const AGENT_TOKEN = "agent-t0ken-value"

const agent = await startFakeAgent({ token: AGENT_TOKEN })
const client = httpScheduler.layer({
  baseUrl: agent.url,
  token: Redacted.make(AGENT_TOKEN),
  scaleGroup: "restreamer",
  debug: true,
})
const area = makeArea(
  restarts
    .layer({ ...RESTART_RULES, delayMs: 1 }, "5 seconds")
    .pipe(Layer.provideMerge(client), Layer.provide(journal.layer)),
  (context, { guard }) => {
    const routes = [schedulerRoutes({ guard, responder: makeResponder(context), roles: ["operator"] })]
    return { mounts: [{ prefix: "/scheduler", routes }] }
  },
)
const service = await sharedService({ areas: [area] })
afterAll(() => agent.stop())

const send = (method: string, path: string, body?: string, init: RequestInit = {}) =>
  service.send(`/scheduler${path}`, {
    method,
    ...(body === undefined ? {} : { body }),
    ...init,
    headers: {
      authorization: `Bearer ${service.token("operator")}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...init.headers,
    },
  })

const jobText = (id: string, count = 1) =>
  `{"ID":${JSON.stringify(id)},"Name":"x","Big":18446744073709551615,"Empty":[],"Nothing":null,"TaskGroups":[{"Name":"restreamer","Count":${count},"Update":{"MinHealthyTime":0}}]}`

const run = async (id: string, count = 1) => {
  const answer = await send("POST", "/jobs?region=", jobText(id, count))
  expect(answer.status).toBe(200)
}

describe("access", () => {
  const ROUTES = [
    ["GET", "/jobs/x"],
    ["POST", "/jobs"],
    ["POST", "/jobs/x/scale"],
    ["POST", "/jobs/x/restart"],
    ["DELETE", "/jobs/x"],
    ["GET", "/allocations/x/stats"],
    ["GET", "/nodes/x/allocations"],
    ["GET", "/restarts"],
  ] as const
  test.each(ROUTES)("%s %s needs a token with the role, and the agent is not asked", async (method, path) => {
    const before = agent.requests.length
    await expectProblem(await send(method, path, undefined, { headers: { authorization: "" } }), 401, "UNAUTHENTICATED")
    const other = { headers: { authorization: `Bearer ${service.token("user")}` } }
    await expectProblem(await send(method, path, undefined, other), 403, "FORBIDDEN")
    expect(agent.requests.length).toBe(before)
  })

  test("unknown paths and methods", async () => {
    await expectProblem(await send("GET", "/nothing"), 404, "ROUTE_NOT_FOUND")
    const answer = await send("PATCH", "/jobs/x")
    expect(answer.headers.get("allow")).toBe("GET, HEAD, DELETE")
    await expectProblem(answer, 405, "METHOD_NOT_ALLOWED")
  })
})

describe("jobs", () => {
  test("a definition goes through with every digit and field", async () => {
    await run("video/one")
    expect(agent.requests.at(-1)?.body).toBe(`{"Job":${jobText("video/one")}}`)
    const answer = await send("GET", "/jobs/video%2Fone?region=")
    expect(answer.status).toBe(200)
    const text = await answer.text()
    expect(text).toStartWith('{"response":"OK","data":{')
    for (const part of ['"Big":18446744073709551615', '"Empty":[]', '"Nothing":null', '"ID":"video/one"'])
      expect(text).toContain(part)
    expect(agent.requests.at(-1)?.target).toBe("/v1/job/video%2Fone?region=")
  })

  test("scale", async () => {
    await run("scaled")
    expect((await send("POST", "/jobs/scaled/scale", '{"count":3}')).status).toBe(200)
    expect(agent.requests.at(-1)).toMatchObject({
      target: "/v1/job/scaled/scale?region=",
      body: '{"Count":3,"Target":{"Group":"restreamer"}}',
    })
  })

  test.each([
    '{"count":-1}',
    '{"count":1.5}',
    '{"count":"1"}',
    "{}",
    "[]",
    '{"count":1,"more":2}',
    '{"count":9007199254740993}',
  ])("scale by %s is refused before the agent is asked", async (body) => {
    const before = agent.requests.length
    await expectProblem(await send("POST", "/jobs/x/scale", body), 422, "INVALID_SCHEDULER_ARGUMENT")
    expect(agent.requests.length).toBe(before)
  })

  test.each([
    "[]",
    '"x"',
    "{}",
    '{"ID":""}',
    '{"ID":"x","Name":"x","TaskGroups":[{"Name":"g","Count":-1}]}',
    '{"ID":"x","Name":"x","TaskGroups":[{"Name":"g","Count":9007199254740992}]}',
    '{"ID":"x","Name":"x","TaskGroups":[{"Name":"g","Count":-9007199254740993}]}',
  ])("running %s is refused before the agent is asked", async (body) => {
    const before = agent.requests.length
    await expectProblem(await send("POST", "/jobs", body), 422, "INVALID_SCHEDULER_ARGUMENT")
    expect(agent.requests.length).toBe(before)
  })

  /** A definition of so many levels; the definition itself is the first. */
  const deepJob = (levels: number, inside: string): string =>
    jobText("deep").replace("[]", `${"[".repeat(levels - 1)}${inside}${"]".repeat(levels - 1)}`)

  test("a definition may be nested 64 levels deep", async () => {
    expect((await send("POST", "/jobs", deepJob(64, "18446744073709551615"))).status).toBe(200)
    expect(agent.requests.at(-1)?.body).toBe(`{"Job":${deepJob(64, "18446744073709551615")}}`)
  })

  test.each([
    [65, "1"],
    [65, "18446744073709551615"],
    [10_000, '":18446744073709551615,"'],
    [500_000, ""],
  ])("a definition of %d levels is refused before the agent is asked, naming the rule", async (levels, inside) => {
    const before = agent.requests.length
    const problem = await expectProblem(
      await send("POST", "/jobs", deepJob(levels, inside)),
      422,
      "INVALID_SCHEDULER_ARGUMENT",
    )
    expect(JSON.stringify(problem)).toContain("must not be nested deeper than 64 levels")
    expect(agent.requests.length).toBe(before)
  })

  test("restart answers 202, is listed while the job is not back, and brings it back", async () => {
    await run("restarted", 4)
    const [asked, seen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    // The second step is answered when the list has been read.
    agent.script(
      () => false,
      async () => {
        asked.resolve()
        await seen.promise
        return false
      },
    )
    const answer = await send("POST", "/jobs/restarted/restart")
    expect(answer.status).toBe(202)
    expect(await answer.json()).toEqual({ response: "OK", data: { jobId: "restarted", region: "" } })
    await asked.promise
    const { data } = (await (await send("GET", "/restarts")).json()) as { data: ReadonlyArray<Record<string, unknown>> }
    const shown = { agent: agent.url, jobId: "restarted", region: "", state: "starting", attempts: 1, lastError: null }
    expect(data).toEqual([{ ...shown, dueAt: expect.any(String) }])
    seen.resolve()
    const left = async () => (await (await send("GET", "/restarts")).json()) as { readonly data: ReadonlyArray<object> }
    while ((await left()).data.length > 0) await Bun.sleep(10)
    const counts = agent.requests
      .filter(({ target }) => target === "/v1/job/restarted/scale?region=")
      .map(({ body }) => body)
    expect(counts.map((body) => (JSON.parse(body) as { Count: number }).Count)).toEqual([0, 1])
  })

  test("delete", async () => {
    await run("deleted")
    expect((await send("DELETE", "/jobs/deleted?purge=true&region=global")).status).toBe(200)
    expect(agent.requests.at(-1)?.target).toBe("/v1/job/deleted?purge=true&region=global")
    await expectProblem(await send("GET", "/jobs/deleted"), 404, "SCHEDULER_NOT_FOUND")
    await expectProblem(await send("DELETE", "/jobs/x?purge=yes"), 400, "INVALID_QUERY")
    await expectProblem(await send("GET", "/jobs/x?region=a&region=b"), 400, "INVALID_QUERY")
  })

  test("allocations and stats", async () => {
    await run("allocated", 2)
    const { data } = (await (await send("GET", `/nodes/${agent.agent.nodeId}/allocations`)).json()) as {
      data: { NomadAllocations: ReadonlyArray<{ ID: string; JobID: string }> }
    }
    const mine = data.NomadAllocations.filter(({ JobID }) => JobID === "allocated")
    expect(mine).toHaveLength(2)
    const stats = await send("GET", `/allocations/${mine[0]?.ID}/stats`)
    expect(await stats.json()).toMatchObject({
      data: { MemoryStats: { RSS: 1486848 }, CpuStats: { Percent: 0.14159538847117795 } },
    })
  })
})

describe("failures of the agent", () => {
  test.each([
    [404, "job not found", 404, "SCHEDULER_NOT_FOUND", undefined],
    [404, "404 page not found", 502, "SCHEDULER_FOREIGN_ANSWER", undefined],
    [404, "", 502, "SCHEDULER_FOREIGN_ANSWER", undefined],
    [
      400,
      "job scaling blocked due to active deployment",
      422,
      "ACTIVE_DEPLOYMENT",
      "job scaling blocked due to active deployment",
    ],
    [
      400,
      "group count was less than scaling policy minimum: 0 < 1",
      422,
      "SCHEDULER_REFUSED",
      "group count was less than scaling policy minimum: 0 < 1",
    ],
    [
      500,
      "1 error occurred:\n\t* Missing job datacenters\n\n",
      422,
      "INVALID_JOB",
      "1 error occurred:\n\t* Missing job datacenters",
    ],
    [500, "No path to region", 422, "NO_REGION", "No path to region"],
    [500, "No cluster leader", 503, "NO_LEADER", undefined],
    [429, "slow down", 503, "SCHEDULER_RATE_LIMITED", undefined],
    [403, "Permission denied", 502, "SCHEDULER_DENIED", undefined],
    [500, `boom ${AGENT_TOKEN}`, 502, "SCHEDULER_FAILED", undefined],
    [200, "<html>", 502, "UNREADABLE_ANSWER", undefined],
  ] as const)("%d '%s' -> %d %s", async (status, text, expected, code, detail) => {
    agent.script(reply(status, text))
    const answer = await send("POST", "/jobs/x/scale", '{"count":1}')
    expect(answer.headers.get("retry-after")).toBe(expected === 503 ? "2" : null)
    const problem = await expectProblem(answer, expected, code)
    if (detail !== undefined) expect(problem.detail).toBe(detail)
    expect(JSON.stringify(problem)).not.toContain(AGENT_TOKEN)
  })

  test("a connection that breaks: 503, and that the effect is unknown", async () => {
    agent.script((response) => {
      response.destroy()
      return true
    })
    const problem = await expectProblem(
      await send("POST", "/jobs/x/scale", '{"count":1}'),
      503,
      "SCHEDULER_CONNECTION_LOST",
    )
    expect(problem.detail).toContain("not known")
  })

  test("no log line holds the agent's token, exchanges at debug level included", () => {
    expect(service.log()).toContain("HTTP exchange")
    expect(service.log()).not.toContain(AGENT_TOKEN)
  })
})

test("without an agent there are no scheduler routes", async () => {
  const plain = await startService()
  const init = { headers: { authorization: `Bearer ${plain.token("operator")}` } }
  await expectProblem(await plain.send("/scheduler/restarts", init), 404, "ROUTE_NOT_FOUND")
  await plain.stop()
})
