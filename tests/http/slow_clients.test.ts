// Clients of every hostile kind beside a good one, at a size for every day: `tests/attacks/slow_clients.ts` has the full one.
import { afterAll, expect, test } from "bun:test"
import { HOSTILE_KINDS, openHostile, startGoodClient } from "../support/hostile_clients.ts"
import { descriptorsOf } from "../support/process_figures.ts"
import { callerHeaders, endProcesses, serve } from "../support/service_process.ts"

const CONNECTIONS = 40
const HELD_MS = 3_000

afterAll(endProcesses)

test.skipIf(process.platform !== "linux")(
  "idle, slow, deaf and forged clients: a good one sees no error, and every connection is given back",
  async () => {
    const service = await serve({ STORE: "memory" })
    const target = { url: service.address, authorization: callerHeaders()["authorization"] ?? "" }
    await startGoodClient(target).stop()
    const before = descriptorsOf(service.pid)
    const hostile = HOSTILE_KINDS.map((kind) => openHostile(kind, target, CONNECTIONS))
    const good = startGoodClient(target)
    await Bun.sleep(HELD_MS)
    // Otherwise nobody was hostile.
    expect(descriptorsOf(service.pid) - before).toBeGreaterThan(CONNECTIONS * (HOSTILE_KINDS.length - 1))
    const { requests, errors } = await good.stop()
    for (const each of hostile) each.close()
    expect(errors).toEqual([])
    expect(requests).toBeGreaterThan(2)
    while (descriptorsOf(service.pid) > before + 2) await Bun.sleep(20)
  },
)
