// Bodies of one-byte chunks with long extensions, on every kind of route: bun tests/attacks/tiny_chunks.ts [MB]
// 300 MB on four connections must not raise a process by 64 MB. Prints a line per route; exit 1 when a limit is broken.
import { startStack } from "../stack/running_stack.ts"
import { endProcesses, serve } from "../support/service_process.ts"
import { attack, attacksOnGateway, attacksOnService } from "../support/tiny_chunks.ts"

const MB = 2 ** 20
const SENT = Number(process.argv[2] ?? 300) * MB
const GROWTH_MAX = 64 * MB

const service = await serve()
const stack = await startStack({ gateway: "2.8" })
try {
  const attacks = [...attacksOnService(service.address, service.pid), ...(await attacksOnGateway(stack.state))]
  for (const made of attacks) {
    const { statuses, grown } = await attack(made, SENT)
    const broken = Object.values(grown).some((bytes) => bytes >= GROWTH_MAX)
    if (broken) process.exitCode = 1
    const shown = Object.entries(grown).map(([name, bytes]) => `${name} +${(bytes / MB).toFixed(0)} MB`)
    const line = [broken ? "BROKEN" : "held  ", made.name.padEnd(40), statuses.join(" "), shown.join(", ")].join("  ")
    process.stdout.write(`${line}\n`)
  }
} finally {
  await stack.stop()
  await endProcesses()
}
