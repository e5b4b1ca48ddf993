// What a real agent said, and what ours says to the same questions.
import { deepEqual, equal, ok } from "node:assert/strict"
import { describe, test } from "node:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryAgent } from "../../../adapters/driven/scheduler/memory_agent.ts"
import { refusalOf } from "../../../adapters/driven/scheduler/refusals.ts"
import recording from "../../fixtures/nomad/1.10.5.json" with { type: "json" }
import { converse, type RecordedAnswer, type Recording } from "../../support/agent_conversation.ts"
import { effectTest } from "../../support/effect_test.ts"

const { answers: recorded } = recording as Recording

/** Numbers and ids differ from run to run. */
const general = (text: string): string => text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<id>").replace(/\d+/g, "<n>")

const keysOf = (answer: string): ReadonlyArray<string> => {
  const value = JSON.parse(answer) as object
  return Object.keys(Array.isArray(value) ? ((value[0] as object | undefined) ?? {}) : value).sort()
}

const askOurs = Effect.gen(function* () {
  const agent = makeMemoryAgent()
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  return yield* Effect.promise(() =>
    converse({
      nodeId: agent.nodeId,
      pause: (ms) => run(TestClock.adjust(ms) as Effect.Effect<void>),
      ask: async ({ method, target, body = "" }) => {
        const [path = "", query = ""] = target.split("?", 2)
        const answer = await run(agent.handle({ method, path, query: new URLSearchParams(query), body }))
        return { status: answer.status, headers: Object.entries(answer.headers), text: answer.body }
      },
    }),
  )
})

describe("the agent in memory", () => {
  effectTest("answers as the recorded one: statuses, header fields, refusals word for word", () =>
    Effect.gen(function* () {
      const ours = yield* askOurs
      const outline = ({ name, status, headers, answer }: RecordedAnswer) => ({
        name,
        status,
        fields: Object.keys(headers).sort(),
        answer: status >= 400 ? general(answer) : "",
      })
      // A refusal to a read may carry an index as well: nobody reads it there.
      const comparable = (each: RecordedAnswer): RecordedAnswer =>
        each.status < 400 ? each : { ...each, headers: { "content-type": each.headers["content-type"] ?? "" } }
      deepEqual(ours.map(comparable).map(outline), recorded.map(comparable).map(outline))
    }),
  )

  effectTest("says nothing in its JSON that the recorded one does not say", () =>
    Effect.gen(function* () {
      for (const [index, { name, status, answer }] of (yield* askOurs).entries()) {
        if (status !== 200) continue
        const theirs = keysOf(recorded[index]?.answer ?? "")
        const extra = keysOf(answer).filter((key) => !theirs.includes(key))
        deepEqual({ name, extra }, { name, extra: [] })
      }
    }),
  )
})

describe("recorded refusals", () => {
  const CLASSES: Readonly<Record<string, string>> = {
    "scale during a deployment": "ActiveDeployment",
    "scale during the deployment that made": "ActiveDeployment",
    "two groups: scale to 1 one second later": "ActiveDeployment",
    "get a purged job": "SchedulerNotFound",
    "delete with a wrong purge": "SchedulerRefused",
    "scale an unknown job": "SchedulerNotFound",
    "status of an unknown job": "SchedulerNotFound",
    "scale an unknown group": "SchedulerRefused",
    "scale no group": "SchedulerRefused",
    "scale below 0": "SchedulerRefused",
    "scale by a fraction": "SchedulerRefused",
    "scale against an index": "JobIndexConflict",
    "scale in an unknown region": "NoRegion",
    "run a bare definition": "SchedulerRefused",
    "run an invalid job": "InvalidJob",
    "run a job without groups": "InvalidJob",
    "run broken JSON": "SchedulerRefused",
    "run nothing": "SchedulerRefused",
    "plan another job": "SchedulerRefused",
    "stats of an unknown allocation": "SchedulerNotFound",
    "stats of a short id": "SchedulerRefused",
    "an unknown path": "SchedulerNotFound",
    "a wrong method": "SchedulerRefused",
    "a wrong wait": "SchedulerRefused",
    "a wrong index": "SchedulerRefused",
  }
  test("each is of one class, and was certainly not applied", () => {
    const refused = recorded.filter(({ status }) => status >= 400)
    ok(refused.length > 20)
    for (const { name, status, answer } of refused) {
      const error = refusalOf({ operation: "scaleJob", method: "POST", path: "/", status, body: answer })
      equal(`${name}: ${error._tag}`, `${name}: ${CLASSES[name]}`)
      equal("applied" in error ? error.applied : undefined, "no")
    }
  })
})
