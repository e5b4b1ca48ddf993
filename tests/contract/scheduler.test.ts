import { afterAll } from "bun:test"
import { Effect, Layer, Logger } from "effect"
import * as http from "../../adapters/driven/scheduler/http.ts"
import * as memory from "../../adapters/driven/scheduler/memory.ts"
import { makeMemoryAgent } from "../../adapters/driven/scheduler/memory_agent.ts"
import { startFakeAgent } from "../support/fake_agent.ts"
import { GROUP, schedulerContract } from "./scheduler.ts"

const quiet = Logger.layer([])
const HEALTHY_MS = 200

schedulerContract("memory", async () => {
  const agent = makeMemoryAgent({ startMs: 20 })
  return {
    port: Layer.provideMerge(memory.layer({ agent, scaleGroup: GROUP }), quiet),
    nodeId: agent.nodeId,
    healthyMs: HEALTHY_MS,
  }
})

const stops: Array<() => Promise<void>> = []
afterAll(() => Promise.all(stops.map((stop) => stop())))

schedulerContract("HTTP to the agent in memory", async () => {
  const fake = await startFakeAgent({ startMs: 20 })
  stops.push(fake.stop)
  const port = http.layer({ baseUrl: fake.url, scaleGroup: GROUP })
  // One client for all tests, as in the service.
  const context = await Effect.runPromise(Effect.scoped(Layer.build(Layer.provideMerge(port, quiet))))
  return { port: Layer.succeedContext(context), nodeId: fake.agent.nodeId, healthyMs: HEALTHY_MS }
})
