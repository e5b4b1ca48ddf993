// The Nomad of the ring is what the suites take it for.
import { expect, test } from "bun:test"
import { NOMAD, realSuite } from "../support/real_servers.ts"

realSuite(NOMAD, "the Nomad of the ring", (nomad) => {
  test("has a leader", async () => {
    expect(await (await fetch(`${nomad.url}/v1/status/leader`)).json()).toMatch(/:\d+$/)
  })
})
