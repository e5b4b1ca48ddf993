// Clients of a suite, and the errors their calls end with.
import { afterAll } from "bun:test"
import { createScheduler, type Scheduler, type SchedulerOptions } from "../../bootstrap/scheduler.ts"

/** Makes clients of the same agent, which are closed when the suite is over. */
export const schedulerClients = (usual: () => SchedulerOptions) => {
  const made: Array<Scheduler> = []
  afterAll(() => Promise.all(made.map((each) => each.close())))
  return (options: Partial<SchedulerOptions> = {}): Scheduler => {
    const client = createScheduler({ ...usual(), ...options })
    made.push(client)
    return client
  }
}

/** The error of a call that has to fail. */
export const failureOf = (call: Promise<unknown>): Promise<Record<string, unknown>> =>
  call.then(
    () => Promise.reject(new Error("the call was expected to fail")),
    (error: Record<string, unknown>) => error,
  )
