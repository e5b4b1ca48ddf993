// A client with a journal in a process of its own, for tests that kill or stop it: restarts the named jobs, says how each
// restart was answered, and stays.
import { createScheduler } from "../../bootstrap/scheduler.ts"

const [baseUrl = "", journalPath = "", delayMs, leaseMs, writeTimeoutMs, marginMs, ...jobIds] = process.argv.slice(2)
const token = process.env["RESTARTER_TOKEN"]
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
  jobIds.map((jobId) =>
    scheduler.restartJob(jobId).then(
      () => answer(jobId)("accepted"),
      (error: { readonly code: string }) => answer(jobId)(error.code),
    ),
  ),
)
