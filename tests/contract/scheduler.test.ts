import { afterAll } from "bun:test"
import { Effect, Layer, Logger } from "effect"
import * as http from "../../adapters/driven/scheduler/http.ts"
import * as memory from "../../adapters/driven/scheduler/memory.ts"
import type { SchedulerPort } from "../../domain/scheduler/scheduler_port.ts"
import { startFakeAgent } from "../support/fake_agent.ts"
import { agentContract, GROUP, schedulerContract } from "./scheduler.ts"

/** One adapter for all promises, as in the service. */
const built = async (port: Layer.Layer<SchedulerPort, unknown>) =>
  Layer.succeedContext(await Effect.runPromise(Effect.scoped(Layer.build(Layer.provideMerge(port, Logger.layer([]))))))

schedulerContract("memory", async () => ({
  port: await built(memory.layer({ scaleGroup: GROUP, nodeId: "here" })),
  nodeId: "here",
}))

const stops: Array<() => Promise<void>> = []
afterAll(() => Promise.all(stops.map((stop) => stop())))

const httpToScriptedAgent = async () => {
  const fake = await startFakeAgent({ startMs: 20 })
  stops.push(fake.stop)
  const port = await built(http.layer({ baseUrl: fake.url, scaleGroup: GROUP }))
  return { port, nodeId: fake.agent.nodeId, healthyMs: 200 }
}
schedulerContract("HTTP to the scripted agent", httpToScriptedAgent)
agentContract("HTTP to the scripted agent", httpToScriptedAgent)
