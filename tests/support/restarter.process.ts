// A client with a journal in a process of its own, for tests that kill or stop it: restarts the named jobs, says how each
// restart was answered, and stays. With RESTARTER_GAP_MS the restarts begin one after another, so many milliseconds apart.
import { createScheduler } from "../../bootstrap/scheduler.ts"

const [baseUrl = "", journalPath = "", delayMs, leaseMs, writeTimeoutMs, marginMs, ...jobIds] = process.argv.slice(2)
const token = process.env["RESTARTER_TOKEN"]
const gapMs = Number(process.env["RESTARTER_GAP_MS"] ?? 0)
const scheduler = createScheduler({
  baseUrl,
  ...(token === undefined ? {} : { token }),
  journalPath,
  writeTimeoutMs: Number(writeTimeoutMs),
  restart: { delayMs: Number(delayMs), leaseMs: Number(leaseMs), marginMs: Number(marginMs) },
})
process.stdout.write("ready\n")
const answer = (jobId: string) => (outcome: string) => process.stdout.write(`${jobId} ${outcome}\n`)
await Promise.all(
  jobIds.map(async (jobId, at) => {
    await Bun.sleep(at * gapMs)
    await scheduler.restartJob(jobId).then(
      () => answer(jobId)("accepted"),
      (error: { readonly code: string }) => answer(jobId)(error.code),
    )
  }),
)
