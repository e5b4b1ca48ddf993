// The event stream as an async iterator: it survives its connections.
import { afterEach, describe, expect, test } from "bun:test"
import { createScheduler, type Scheduler } from "../../bootstrap/scheduler.ts"
import { type FakeAgent, reply, startFakeAgent } from "../support/fake_agent.ts"

let agent: FakeAgent
let scheduler: Scheduler
const start = async (): Promise<void> => {
  agent = await startFakeAgent()
  scheduler = createScheduler({ baseUrl: agent.url })
}
afterEach(async () => {
  await scheduler.close()
  await agent.stop()
})

const job = (ID: string) => ({ ID, Name: ID, TaskGroups: [{ Name: "restreamer", Update: { MinHealthyTime: 0 } }] })

describe("events", () => {
  test("come in order, filtered by topic, and leaving the loop ends the connection", async () => {
    await start()
    await scheduler.runJob(job("other"))
    await scheduler.runJob(job("web"))
    const seen: Array<unknown> = []
    for await (const { Events } of scheduler.events("", { topics: ["Job:web"] })) {
      seen.push(...Events.map((event) => event["Key"]))
      if (seen.length === 1) await scheduler.deleteJob("web")
      if (seen.length === 2) break
    }
    expect(seen).toEqual(["web", "web"])
    const { target } = agent.requests.find((each) => each.target.includes("/event/stream")) ?? { target: "" }
    expect(target).toBe("/v1/event/stream?region=&index=0&topic=Job%3Aweb")
  })

  test("go on from the last index after a broken connection and after refusals that pass", async () => {
    await start()
    let breakOff = () => {}
    agent.script(
      (response) => {
        breakOff = () => void response.destroy()
        return response.writeHead(200).write('{}\n{"Index":41,"Events":[{"Topic":"Job"}]}\n{"Index":4') !== undefined
      },
      reply(500, "No cluster leader"),
      (response) =>
        response.writeHead(200).end('{"Index":18446744073709551615,"Events":[{"Topic":"Job"}]}\n') !== undefined,
    )
    const indexes: Array<unknown> = []
    for await (const { Index } of scheduler.events()) {
      if (indexes.push(Index) === 2) break
      breakOff()
    }
    expect(indexes).toEqual([41, 18446744073709551615n])
    expect(agent.requests.map(({ target }) => new URL(target, "http://x").searchParams.get("index"))).toEqual([
      "0",
      "42",
      "42",
    ])
  })

  test("end with an error that does not pass", async () => {
    await start()
    agent.script(reply(403, "Permission denied"))
    const reading = (async () => {
      for await (const _ of scheduler.events()) throw new Error("no event was expected")
    })()
    expect(await reading.catch((error: unknown) => error)).toMatchObject({ code: "SCHEDULER_DENIED" })
    expect(agent.requests).toHaveLength(1)
  })
})
