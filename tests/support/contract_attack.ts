// Runs schemathesis against a service by its own OpenAPI document, and counts what came of it.
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { ContractService } from "./contract_service.ts"

const CONFIG = join(import.meta.dir, "../attacks/schemathesis.toml")
const HOOKS = join(import.meta.dir, "../attacks/schemathesis_hooks.py")

export interface Attack {
  /** The executable. */
  readonly command: string
  /** Which token is sent, or `none`. */
  readonly token: keyof ContractService["tokens"] | "none"
  /** Generated requests per operation, beside those that follow from the schemas. */
  readonly examples: number
  readonly phases: string
  readonly seed: number
}

export interface AttackResult {
  /** Requests that the service logged, by status. */
  readonly statuses: ReadonlyMap<number, number>
  readonly requests: number
  /** What schemathesis holds against the service: kind, operations, and the whole report behind it. */
  readonly failures: ReadonlyArray<string>
  /** What it printed, with a command line for every failure. */
  readonly output: string
}

interface Report {
  readonly complete: boolean
  readonly operations: { readonly selected: number; readonly tested: number }
  readonly failures: ReadonlyArray<{ readonly code: string; readonly title: string; readonly operations: unknown }>
  readonly errors: ReadonlyArray<unknown>
}

const REQUEST = /^\{.*"message":"request".*"status":(\d+)/gm

/** Attacks the service once; it must be asked by nobody else meanwhile. */
export const attack = async (service: ContractService, how: Attack): Promise<AttackResult> => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-attack-"))
  const report = join(folder, "report.json")
  const before = service.log().length
  try {
    const authorization = how.token === "none" ? [] : ["--header", `Authorization: Bearer ${service.tokens[how.token]}`]
    const run = Bun.spawn(
      [
        ...[how.command, "--config-file", CONFIG, "run", `${service.url}/openapi.json`, ...authorization],
        ...["--no-color", "--continue-on-failure", "--generation-database=none", `--seed=${how.seed}`],
        ...[`--phases=${how.phases}`, `--max-examples=${how.examples}`],
        ...["--report=json", `--report-json-path=${report}`],
      ],
      { cwd: folder, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, SCHEMATHESIS_HOOKS: HOOKS } },
    )
    const [output, complaint] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()])
    const code = await run.exited
    if (code > 1) throw new Error(`schemathesis ended with ${code}:\n${output}${complaint}`)
    const { complete, operations, failures, errors } = JSON.parse(readFileSync(report, "utf8")) as Report
    const statuses = new Map<number, number>()
    for (const [, status] of service.log().slice(before).matchAll(REQUEST))
      statuses.set(Number(status), (statuses.get(Number(status)) ?? 0) + 1)
    const left = operations.selected - operations.tested
    return {
      statuses,
      requests: [...statuses.values()].reduce((sum, count) => sum + count, 0),
      failures: [
        ...failures.map((failure) => `${failure.code} ${failure.title}: ${JSON.stringify(failure.operations)}`),
        ...errors.map((error) => `error: ${JSON.stringify(error)}`),
        ...(complete && left === 0 ? [] : [`incomplete: ${left} operations were not tested`]),
        ...[...statuses].flatMap(([status, count]) =>
          status >= 500 ? [`${count} answers with status ${status}`] : [],
        ),
      ],
      output,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
