// From the start of `portolan serve` to its first answer: from source, and as the single executable, in turns. Ends with 1
// when the executable takes more than its share of the time from source. Usage: bun tests/bench/start.ts [rounds]
import { executable } from "../support/executable.ts"
import { endProcesses, FROM_SOURCE, serveEnvironment, startProcess, stop } from "../support/service_process.ts"
import { median } from "./load.ts"
import { processorTimeOf } from "./processor_time.ts"

/** Largest share of the time from source. */
const SHARE_MAX = 0.35

/** Milliseconds until the first answer: as the clock shows, and of the processor. */
const measured = async (program: ReadonlyArray<string>) => {
  const startedAt = performance.now()
  const service = startProcess(["serve"], { ...serveEnvironment(), STORE: "memory" }, program)
  const answer = await fetch(`${await service.url()}/health/live`)
  const clockMs = performance.now() - startedAt
  if (!answer.ok) throw new Error(`/health/live answered ${answer.status}`)
  const processorMs = processorTimeOf(service.pid) / 1000
  await stop(service)
  return { clockMs, processorMs }
}

const rounds = Number(process.argv[2] ?? 15)
const single = [await executable()]
// The first start of each reads its files from the disk.
for (const program of [FROM_SOURCE, single]) await measured(program)
const sourceRuns: Array<Awaited<ReturnType<typeof measured>>> = []
const singleRuns: typeof sourceRuns = []
for (let round = 0; round < rounds; round++) {
  sourceRuns.push(await measured(FROM_SOURCE))
  singleRuns.push(await measured(single))
}
await endProcesses()

const print = (line: string) => process.stdout.write(`${line}\n`)
const shareOf = (name: string, kind: keyof (typeof sourceRuns)[number]): number => {
  const slow = median(sourceRuns.map((run) => run[kind]))
  const quick = median(singleRuns.map((run) => run[kind]))
  print(
    `${name}: from source ${slow.toFixed(0)} ms, executable ${quick.toFixed(0)} ms, share ${(quick / slow).toFixed(2)}`,
  )
  return quick / slow
}
const share = shareOf("first answer", "clockMs")
shareOf("processor time", "processorMs")
print(
  `medians of ${rounds} starts each; at most ${SHARE_MAX} of the time from source: ${share <= SHARE_MAX ? "yes" : "no"}`,
)
process.exitCode = share <= SHARE_MAX ? 0 : 1
