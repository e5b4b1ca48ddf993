// A feed of changes over the ends of its service: a stop does not wait for it, and nothing is missing after a kill.
import { afterAll, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { readEvents } from "../support/event_reader.ts"
import { callerHeaders, endProcesses, newHome, serve } from "../support/service_process.ts"

afterAll(endProcesses)

const DEFINITIONS = {
  collections: [
    { name: "charts", changes: true, fields: { type: "object", properties: { name: { type: "string" } } } },
  ],
}

test("goes on where it was after SIGKILL, and SIGTERM waits for none", async () => {
  const home = newHome()
  const COLLECTIONS = join(home, "collections.json")
  writeFileSync(COLLECTIONS, JSON.stringify(DEFINITIONS))
  const start = () => serve({ PORTOLAN_HOME: home, COLLECTIONS })
  const create = async (address: string, name: string) =>
    (await fetch(`${address}/api/charts`, { method: "POST", body: JSON.stringify({ name }), headers: callerHeaders() }))
      .status
  const follow = async (address: string, after: string) => {
    const query = after === "" ? "" : `?after=${after}`
    return readEvents(await fetch(`${address}/api/charts/changes${query}`, { headers: callerHeaders() }))
  }

  const first = await start()
  const feed = await follow(first.address, "")
  const [begin] = await feed.take(1)
  expect(await create(first.address, "before the kill")).toBe(201)
  expect((await feed.take(1)).map(({ event }) => event)).toEqual(["create"])
  expect(await create(first.address, "not told")).toBe(201)
  first.signal("SIGKILL")
  await first.ended
  await feed.ended().catch(() => {})

  const second = await start()
  expect(await create(second.address, "after the kill")).toBe(201)
  const again = await follow(second.address, begin?.id ?? "")
  expect((await again.take(4)).map(({ event, data }) => [event, data])).toEqual([
    [undefined, undefined],
    ["create", { id: 1, name: "before the kill" }],
    ["create", { id: 2, name: "not told" }],
    ["create", { id: 3, name: "after the kill" }],
  ])
  second.signal("SIGTERM")
  // It ends as a stream ends: the listener would cut it off, after 10 s.
  await again.ended()
  expect(await second.ended).toBe(0)
  expect(second.stderr().trimEnd().split("\n").at(-1)).toContain('"message":"Stopped"')
}, 120_000)
