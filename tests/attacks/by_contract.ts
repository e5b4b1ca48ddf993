// Every route, attacked by what the OpenAPI document says of it: bun run attack:contract [requests per operation, 450] [seed]
// Schemathesis makes requests that the document allows, requests that it forbids and sequences of them, with a good token,
// a bad one, one without a role and none. An answer with a status that the document does not name, a body or a header that
// breaks its schema, a forbidden request that is accepted, a 5xx: each is printed, and ends this with exit 1. Needs Python.
import { join } from "node:path"
import { attack } from "../support/contract_attack.ts"
import { startContractService } from "../support/contract_service.ts"

const EXAMPLES = Number(process.argv[2] ?? 450)
const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 2 ** 31))
const print = (line: string) => process.stdout.write(`${line}\n`)

const install = Bun.spawn([join(import.meta.dir, "install.sh")], { stdio: ["ignore", "pipe", "inherit"] })
const command = (await new Response(install.stdout).text()).trim()
if ((await install.exited) !== 0) throw new Error("schemathesis could not be installed")

const service = await startContractService()
let requests = 0
try {
  print(`seed ${seed}`)
  for (const [token, examples] of [
    ["valid", EXAMPLES],
    ["bad", EXAMPLES / 8],
    ["role-less", EXAMPLES / 8],
    ["none", EXAMPLES / 8],
  ] as const) {
    const startedAt = performance.now()
    const result = await attack(service, {
      command,
      token,
      examples: Math.max(1, Math.round(examples)),
      phases: "examples,coverage,fuzzing,stateful",
      seed,
    })
    requests += result.requests
    const statuses = [...result.statuses].sort().map(([status, count]) => `${status} x ${count}`)
    const verdict = result.failures.length === 0 ? "held  " : "BROKEN"
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
    print(`${verdict}  ${token.padEnd(9)}  ${result.requests} requests in ${seconds} s: ${statuses.join(", ")}`)
    if (result.failures.length === 0) continue
    process.exitCode = 1
    print(`${result.failures.join("\n")}\n\n${result.output}`)
  }
  print(`${requests} requests in all${process.exitCode === 1 ? "" : ", nothing to mend"}`)
} finally {
  await service.stop()
}
