// What `bun tests/attacks/tiny_chunks.ts` does at full size, with a fifth of it: nobody who reads a body keeps what the wire
// brought beside it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { endProcesses, serve } from "../support/service_process.ts"
import { type Attack, attack, attacksOnGateway, attacksOnService } from "../support/tiny_chunks.ts"
import { type RunningStack, STACK_TEST_MS, startStack } from "./running_stack.ts"

const MB = 2 ** 20
const SENT = 64 * MB
/** Half of what is sent: whoever keeps the wire's bytes grows by all of it. A process that does so for the first time takes up to 30 MB. */
const GROWTH_MAX = SENT / 2

const expectHeld = async (made: Attack): Promise<void> => {
  await attack(made, SENT / 8)
  const { statuses, grown } = await attack(made, SENT)
  expect(statuses).toEqual(statuses.map(() => made.status))
  for (const [name, bytes] of Object.entries(grown))
    expect({ name, held: bytes < GROWTH_MAX }).toEqual({ name, held: true })
}

describe.skipIf(process.platform !== "linux")("64 MB in one-byte chunks with long extensions", () => {
  let stack: RunningStack
  let attacks: ReadonlyArray<Attack> = []

  beforeAll(async () => {
    const [service, started] = await Promise.all([serve(), startStack({ gateway: "2.8" })])
    stack = started
    attacks = [...attacksOnService(service.address, service.pid), ...(await attacksOnGateway(stack.state))]
  }, STACK_TEST_MS)
  afterAll(async () => {
    await Promise.all([stack.stop(), endProcesses()])
  }, STACK_TEST_MS)

  test(
    "raise no process by half of that, on any kind of route",
    async () => {
      expect(attacks).toHaveLength(10)
      for (const made of attacks) await expectHeld(made)
    },
    STACK_TEST_MS,
  )
})
