// A client with a journal in a process of its own, for tests that kill it: restarts the named jobs, says so, and stays.
import { createScheduler } from "../../bootstrap/scheduler.ts"

const [baseUrl = "", journalPath = "", delayMs = "1000", leaseMs = "5000", ...jobIds] = process.argv.slice(2)
const scheduler = createScheduler({
  baseUrl,
  journalPath,
  restart: { delayMs: Number(delayMs), leaseMs: Number(leaseMs) },
})
process.stdout.write("ready\n")
await Promise.all(jobIds.map((jobId) => scheduler.restartJob(jobId).catch(() => {})))
