// The scheduler's contract against a real agent: the one of TEST_NOMAD_ADDR, else a `nomad` command in dev mode,
// with access control off and on.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Layer, Logger, Redacted } from "effect"
import * as http from "../../adapters/driven/scheduler/http.ts"
import { createScheduler } from "../../bootstrap/scheduler.ts"
import { agentContract, type Driver, GROUP, schedulerContract } from "../contract/scheduler.ts"
import { NOMAD_COMMAND, type NomadAgent, readyNode, startNomad } from "../support/nomad_agent.ts"
import { NOMAD, presence, realSuite } from "../support/real_servers.ts"

const HEALTHY_MS = 500

/** An agent judges a definition before it looks at the token, so this one is good. */
const VALID = {
  ID: "x",
  Name: "x",
  Datacenters: ["*"],
  TaskGroups: [{ Name: "g", Tasks: [{ Name: "t", Driver: "mock_driver", Config: { run_for: "1s" } }] }],
}

const DRIVERS: ReadonlyArray<Driver> = ["mock_driver", "raw_exec"]

type Agent = Pick<NomadAgent, "url" | "nodeId" | "token">

const harnessOf = ({ url, nodeId, token }: Agent, driver: Driver) => ({
  port: Layer.provideMerge(
    http.layer({ baseUrl: url, scaleGroup: GROUP, ...(token === undefined ? {} : { token: Redacted.make(token) }) }),
    Logger.layer([]),
  ),
  nodeId,
  healthyMs: HEALTHY_MS,
  driver,
})

/** The whole contract, once with each driver, all with one agent. */
const contracts = (name: string, start: () => Promise<Agent>): void => {
  let agent: Promise<Agent> | undefined
  for (const driver of DRIVERS)
    for (const contract of [schedulerContract, agentContract])
      contract(`${name}, ${driver}`, async () => {
        agent ??= start()
        return harnessOf(await agent, driver)
      })
}

if (presence(NOMAD, process.env).kind === "there" || NOMAD_COMMAND === null)
  realSuite(NOMAD, "the scheduler against a Nomad agent", ({ url }) => {
    contracts("Nomad", async () => ({ url, nodeId: await readyNode(url) }))
  })
else
  describe("the scheduler against a Nomad agent", () => {
    let open: NomadAgent | undefined
    afterAll(() => open?.stop())
    contracts("Nomad", async () => {
      open = await startNomad({ acl: false })
      return open
    })
  })

if (NOMAD_COMMAND === null)
  test.skip("the scheduler against a Nomad agent with access control: needs a nomad command: set TEST_NOMAD_COMMAND, or put nomad on the PATH", () => {})
else
  describe("the scheduler against a Nomad agent with access control", () => {
    let guarded: NomadAgent
    beforeAll(async () => {
      guarded = await startNomad({ acl: true })
    })
    afterAll(() => guarded.stop())
    contracts("Nomad with access control", async () => guarded)

    const denied = async (token: string | undefined) => {
      await using scheduler = createScheduler({ baseUrl: guarded.url, ...(token === undefined ? {} : { token }) })
      const calls = [
        scheduler.getDefinition("x"),
        scheduler.runJob(VALID),
        scheduler.scaleJob("x", 1),
        scheduler.restartJob("x"),
        scheduler.deleteJob("x"),
        scheduler.getAllocations(guarded.nodeId),
      ]
      return await Promise.all(
        calls.map((call) =>
          call.then(
            () => "no error",
            (error: { readonly code: string }) => error.code,
          ),
        ),
      )
    }

    test.each([undefined, "00000000-0000-0000-0000-000000000000", "no-uuid"])("token %p is denied", async (token) => {
      expect(new Set(await denied(token))).toEqual(new Set(["SCHEDULER_DENIED"]))
    })
  })
