// Raises a job's priority, restarts it, and waits until it runs as wanted. SCHEDULER_URL is the agent's address.
import { createScheduler, parseLossless, stringifyLossless } from "portolan/scheduler"

const baseUrl = process.env["SCHEDULER_URL"] ?? "http://127.0.0.1:4646"
const token = process.env["SCHEDULER_TOKEN"]
const [jobId = "cam-1", journalPath] = process.argv.slice(2)

const scheduler = createScheduler({
  baseUrl,
  ...(token === undefined ? {} : { token }),
  // With a journal a restart that this process does not live to finish is finished by the next.
  ...(journalPath === undefined ? {} : { journalPath }),
})

try {
  const job = await scheduler.getDefinition(jobId)
  // Every digit and every unknown field survives: a number above 2^53-1 is a bigint.
  const same = stringifyLossless(parseLossless(stringifyLossless(job))) === stringifyLossless(job)
  await scheduler.runJob({ ...job, Priority: 60 })

  await scheduler.restartJob(jobId)
  await scheduler.waitUntilRunning(jobId, "", { timeoutMs: 30_000 })
  const { Priority } = await scheduler.getDefinition(jobId)
  const left = await scheduler.unfinishedRestarts()
  console.log(JSON.stringify({ same, Priority, left: left.length }))
} finally {
  await scheduler.close()
}
