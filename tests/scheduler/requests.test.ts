// What goes over the wire and what comes back: cases 1 to 22, through the library face.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createScheduler, memoryBytes, type SchedulerOptions } from "../../bootstrap/scheduler.ts"
import { type FakeAgent, reply, replyJson, startFakeAgent } from "../support/fake_agent.ts"
import { failureOf, schedulerClients } from "../support/scheduler_clients.ts"

const TOKEN = "s3cr3t"
const ALLOCATION = "00000000-0000-4000-8000-000000000001"

let fake: FakeAgent

beforeAll(async () => {
  fake = await startFakeAgent()
  fake.always(replyJson({ ID: "cam-1", Name: "cam-1" }))
})
const client = schedulerClients(() => ({ baseUrl: fake.url, token: TOKEN }))
afterAll(() => fake.stop())

/** The only request that `call` made. */
const only = async (call: Promise<unknown>) => {
  const before = fake.requests.length
  await call
  expect(fake.requests.length - before).toBe(1)
  const request = fake.requests.at(-1)
  if (request === undefined) throw new Error("no request was seen")
  return request
}

describe("requests", () => {
  test("1: getDefinition", async () => {
    const job = { ID: "cam-1", Name: "cam-1", Meta: null }
    fake.script(replyJson(job))
    const before = fake.requests.length
    expect(await client().getDefinition("cam-1", "")).toEqual(job)
    const request = fake.requests[before]
    expect(request).toMatchObject({ method: "GET", target: "/v1/job/cam-1?region=", body: "" })
    expect(request?.headers).toMatchObject({ "x-scheduler-token": TOKEN, "x-nomad-token": TOKEN })
  })

  test.each([
    ["", "/v1/job/a?region="],
    ["/", "/v1/job/a?region="],
    ["/v1", "/v1/job/a?region="],
    ["/v1/", "/v1/job/a?region="],
    ["/proxy/v1", "/proxy/v1/job/a?region="],
    ["/proxy/", "/proxy/v1/job/a?region="],
  ])("2: base URL ending in '%s'", async (suffix, target) => {
    const { target: seen } = await only(client({ baseUrl: fake.url + suffix }).getDefinition("a"))
    expect(seen).toBe(target)
  })

  test("3: the region is encoded", async () => {
    const { target } = await only(client().getDefinition("a", "eu west/1"))
    expect(new URL(target, "http://x").searchParams.get("region")).toBe("eu west/1")
  })

  test.each(["a/b c?d#é%2F", "job/periodic-123", "a+b&c=d"])("4: id %s is one path segment", async (id) => {
    const { target } = await only(client().getDefinition(id))
    const segment = target.slice("/v1/job/".length, target.indexOf("?"))
    expect(segment).not.toContain("/")
    expect(decodeURIComponent(segment)).toBe(id)
  })

  test.each(["", ".", "..", "\ud800"])("5: id %j is refused by every operation, nothing is sent", async (id) => {
    const scheduler = client()
    const before = fake.requests.length
    for (const call of [
      scheduler.getDefinition(id),
      scheduler.runJob({ ID: id, Name: "x" }),
      scheduler.scaleJob(id, 1),
      scheduler.restartJob(id),
      scheduler.deleteJob(id),
      scheduler.allocationStats(id),
      scheduler.getAllocations(id),
      scheduler.planJob({ ID: id, Name: "x" }),
    ])
      expect((await failureOf(call))["code"]).toBe("INVALID_SCHEDULER_ARGUMENT")
    expect((await failureOf(scheduler.getDefinition("a", "\udc00")))["code"]).toBe("INVALID_SCHEDULER_ARGUMENT")
    expect(fake.requests.length).toBe(before)
  })

  test("6: the token goes with every operation, the background step included; without one there is no header", async () => {
    const run = async (options: Partial<SchedulerOptions>) => {
      const before = fake.requests.length
      const scheduler = client({ ...options, restart: { delayMs: 1 } })
      await scheduler.getDefinition("a")
      await scheduler.runJob({ ID: "a", Name: "a" })
      await scheduler.scaleJob("a", 2)
      await scheduler.deleteJob("a")
      fake.script(replyJson({ MemoryStats: { RSS: 1 }, CpuStats: {} }), replyJson([]))
      await scheduler.allocationStats(ALLOCATION)
      await scheduler.getAllocations("n")
      await scheduler.restartJob("a")
      await scheduler.close()
      return fake.requests.slice(before)
    }
    const withToken = await run({})
    expect(withToken).toHaveLength(8)
    for (const { headers } of withToken)
      expect(headers).toMatchObject({ "x-scheduler-token": TOKEN, "x-nomad-token": TOKEN })
    for (const { headers } of await run({ token: "" })) {
      expect(headers).not.toHaveProperty("x-scheduler-token")
      expect(headers).not.toHaveProperty("x-nomad-token")
    }
  })

  test("7, 8, 9: scaleJob", async () => {
    const request = await only(client().scaleJob("j", 3, ""))
    expect(request).toMatchObject({ method: "POST", target: "/v1/job/j/scale?region=" })
    expect(request.body).toBe('{"Count":3,"Target":{"Group":"restreamer"}}')
    expect(request.headers["content-type"]).toBe("application/json")
    expect((await only(client({ scaleGroup: "video" }).scaleJob("j", 0))).body).toBe(
      '{"Count":0,"Target":{"Group":"video"}}',
    )
    const before = fake.requests.length
    const restarted = client({ scaleGroup: "video", restart: { delayMs: 1 } })
    await restarted.restartJob("j")
    await restarted.close()
    expect(fake.requests.slice(before).map(({ body }) => body)).toEqual([
      '{"Count":0,"Target":{"Group":"video"}}',
      '{"Count":1,"Target":{"Group":"video"}}',
    ])
  })

  test.each([-1, 1.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY])(
    "9: count %p is refused, nothing is sent",
    async (count) => {
      const before = fake.requests.length
      expect((await failureOf(client().scaleJob("j", count)))["code"]).toBe("INVALID_SCHEDULER_ARGUMENT")
      const job = { ID: "j", Name: "j", TaskGroups: [{ Name: "g", Count: count }] }
      if (count !== 2 ** 53) expect((await failureOf(client().runJob(job)))["code"]).toBe("INVALID_SCHEDULER_ARGUMENT")
      expect((await failureOf(client().runJob({ ID: "j", Name: "j", Deep: { at: [Number.NaN] } })))["code"]).toBe(
        "INVALID_SCHEDULER_ARGUMENT",
      )
      expect(fake.requests.length).toBe(before)
    },
  )

  test("10: runJob, its warning logged", async () => {
    const warnings: Array<unknown> = []
    const silent = () => {}
    const logger = {
      debug: silent,
      info: silent,
      error: silent,
      warn: (...line: Array<unknown>) => void warnings.push(line),
    }
    fake.script(replyJson({ EvalID: "e", Warnings: "1 warning:\n\n* old" }))
    const request = await only(client({ logger }).runJob({ ID: "j", Name: "j" }, "us"))
    expect(request).toMatchObject({
      method: "POST",
      target: "/v1/jobs?region=us",
      body: '{"Job":{"ID":"j","Name":"j"}}',
    })
    expect(JSON.stringify(warnings)).toContain("* old")
  })

  test("11: a definition keeps every digit and every field from getDefinition to runJob", async () => {
    const text =
      '{"ID":"j","Name":"j","SubmitTime":1724228034123456789,"JobModifyIndex":18446744073709551615,"Zed":{"a":[1.5,{}]},' +
      '"Meta":null,"Constraints":[],"TaskGroups":[{"Name":"g","Count":1,"Config":{"n":9007199254740993},"__proto__":{"x":1}}]}'
    fake.script(reply(200, text, { "content-type": "application/json" }))
    const scheduler = client()
    const job = await scheduler.getDefinition("j")
    const [group] = job.TaskGroups ?? []
    if (group !== undefined) group.Count = 2
    const { body } = await only(scheduler.runJob(job))
    expect(body).toBe(`{"Job":${text.replace('"Count":1', '"Count":2')}}`)
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined()
  })

  test("12, 13: deleteJob", async () => {
    for (const purge of [true, false]) {
      fake.script(replyJson({ EvalID: "", Index: 0 }))
      const request = await only(client().deleteJob("j", "", purge))
      expect(request).toMatchObject({ method: "DELETE", target: `/v1/job/j?purge=${purge}&region=`, body: "" })
    }
  })

  test("14, 15, 16b, 17: allocationStats", async () => {
    const usage = { MemoryStats: { RSS: 1486848, Measured: ["RSS"] }, CpuStats: { Percent: 0.14159538847117795 } }
    for (const body of [{ ResourceUsage: usage, Tasks: {}, Timestamp: 1 }, usage]) {
      fake.script(replyJson(body))
      const stats = await client().allocationStats(ALLOCATION)
      expect(stats.MemoryStats.RSS).toBe(1486848)
      expect(stats.CpuStats.Percent).toBe(0.14159538847117795)
    }
    fake.script(reply(200, '{"ResourceUsage":{"MemoryStats":{"RSS":17000000000000000000},"CpuStats":null}}'))
    const huge = await client().allocationStats(ALLOCATION)
    expect(huge.MemoryStats.RSS).toBe(17000000000000000000)
    expect(huge.CpuStats.Percent).toBeUndefined()
    fake.script(
      replyJson({
        ResourceUsage: { MemoryStats: { RSS: 0, Usage: 292315136, Measured: ["Cache", "Usage"] }, CpuStats: {} },
      }),
    )
    const unmeasured = await client().allocationStats(ALLOCATION)
    expect(unmeasured.MemoryStats.RSS).toBe(0)
    expect(memoryBytes(unmeasured)).toBe(292315136)
  })

  test.each(["{}", "null", "[]", '{"ResourceUsage":null}'])("16: stats %s are unreadable", async (body) => {
    fake.script(reply(200, body))
    expect((await failureOf(client().allocationStats(ALLOCATION)))["code"]).toBe("UNREADABLE_ANSWER")
  })

  test("18, 19, 20: getAllocations", async () => {
    const list = [
      { ID: "a", JobID: "j", TaskGroup: "g" },
      { ID: "b", JobID: "k", TaskGroup: "h", ClientStatus: "running" },
    ]
    for (const body of [list, { NomadAllocations: list }]) {
      fake.script(replyJson(body))
      expect(await client().getAllocations("n")).toEqual({ NomadAllocations: list })
    }
    for (const body of [[], null, { NomadAllocations: null }]) {
      fake.script(replyJson(body))
      expect(await client().getAllocations("n")).toEqual({ NomadAllocations: [] })
    }
  })

  test.each(['[{"JobID":"j"}]', '[{"ID":1}]', "{}", '"x"', '{"NomadAllocations":{}}'])(
    "21: allocations %s are unreadable",
    async (body) => {
      fake.script(reply(200, body))
      expect((await failureOf(client().getAllocations("n")))["code"]).toBe("UNREADABLE_ANSWER")
    },
  )

  test("22: accept and user agent are set", async () => {
    const { headers } = await only(client().getDefinition("a"))
    expect(headers).toMatchObject({ accept: "application/json", "user-agent": expect.stringContaining("portolan") })
  })

  test("the namespace goes with every call when there is one", async () => {
    const { target } = await only(client({ namespace: "video prod" }).scaleJob("a", 1, "eu"))
    expect(target).toBe("/v1/job/a/scale?region=eu&namespace=video%20prod")
  })

  test("a user in the base URL becomes a header and shows nowhere else", async () => {
    const scheduler = client({ baseUrl: fake.url.replace("http://", "http://proxy:p%40ss@") })
    const { headers, target } = await only(scheduler.getDefinition("a"))
    expect(headers.authorization).toBe(`Basic ${Buffer.from("proxy:p@ss").toString("base64")}`)
    expect(target).toBe("/v1/job/a?region=")
    expect(Bun.inspect(scheduler, { depth: 10 })).not.toContain("p@ss")
  })

  test.each([
    [{ baseUrl: "" }, "baseUrl"],
    [{ baseUrl: "ftp://h" }, "baseUrl"],
    [{ baseUrl: "http://h?x=1" }, "baseUrl"],
    [{ token: "a\nb" }, "token"],
    [{ token: "ключ" }, "token"],
    [{ scaleGroup: "" }, "scaleGroup"],
    [{ maxInFlight: 0 }, "maxInFlight"],
    [{ readTimeoutMs: 1.5 }, "readTimeoutMs"],
    [{ retries: -1 }, "retries"],
  ])("setup %j is refused", (options, option) => {
    expect(() => createScheduler({ baseUrl: fake.url, ...options })).toThrow(
      expect.objectContaining({ code: "INVALID_SCHEDULER_SETUP", option }),
    )
  })
})
