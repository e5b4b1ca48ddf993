// What a real agent said, and what ours says to the same questions.
import { deepEqual, equal, ok } from "node:assert/strict"
import { describe, test } from "node:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { refusalOf } from "../../../adapters/driven/scheduler/scheduler_refusals.ts"
import recording from "../../fixtures/nomad/1.10.5.json" with { type: "json" }
import accessRecording from "../../fixtures/nomad/1.10.5-access-control.json" with { type: "json" }
import {
  type Caller,
  type Conversable,
  converse,
  converseAboutAccess,
  type RecordedAnswer,
  type Recording,
} from "../../support/agent_conversation.ts"
import { effectTest } from "../../support/effect_test.ts"
import { makeScriptedAgent } from "../../support/scripted_agent.ts"

const { answers: recorded } = recording as Recording
const { answers: recordedAccess } = accessRecording as Recording

const TOKEN = "11111111-1111-1111-1111-111111111111"

/** Numbers and ids differ from run to run. */
const general = (text: string): string => text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<id>").replace(/\d+/g, "<n>")

const keysOf = (answer: string): ReadonlyArray<string> => {
  const value = JSON.parse(answer) as object
  return Object.keys(Array.isArray(value) ? ((value[0] as object | undefined) ?? {}) : value).sort()
}

/** Puts a conversation to the scripted agent, on virtual time. */
const askOurs = Effect.fnUntraced(function* (
  conversation: (agent: Conversable) => Promise<ReadonlyArray<RecordedAnswer>>,
  token?: string,
) {
  const agent = makeScriptedAgent(token === undefined ? {} : { token })
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  const carried = (caller: Caller | undefined) => {
    if (token === undefined || caller === "anonymous") return {}
    return { token: caller === "management" ? token : `not ${token}` }
  }
  return yield* Effect.promise(() =>
    conversation({
      nodeId: agent.nodeId,
      pause: (ms) => run(TestClock.adjust(ms) as Effect.Effect<void>),
      ask: async ({ method, target, body = "", caller }) => {
        const [path = "", search = ""] = target.split("?", 2)
        const query = new URLSearchParams(search)
        const answer = await run(agent.handle({ method, path, query, body, ...carried(caller) }))
        return { status: answer.status, headers: Object.entries(answer.headers), text: answer.body }
      },
    }),
  )
})

const outline = ({ name, status, headers, answer }: RecordedAnswer) => ({
  name,
  status,
  fields: Object.keys(headers).sort(),
  answer: status >= 400 ? general(answer) : "",
})

describe("the scripted agent", () => {
  effectTest("answers as the recorded one: statuses, header fields, refusals word for word", () =>
    Effect.gen(function* () {
      const ours = yield* askOurs(converse)
      // A refusal to a read may carry an index as well: nobody reads it there.
      const comparable = (each: RecordedAnswer): RecordedAnswer =>
        each.status < 400 ? each : { ...each, headers: { "content-type": each.headers["content-type"] ?? "" } }
      deepEqual(ours.map(comparable).map(outline), recorded.map(comparable).map(outline))
    }),
  )

  effectTest("says nothing in its JSON that the recorded one does not say", () =>
    Effect.gen(function* () {
      for (const [index, { name, status, answer }] of (yield* askOurs(converse)).entries()) {
        if (status !== 200) continue
        const theirs = keysOf(recorded[index]?.answer ?? "")
        const extra = keysOf(answer).filter((key) => !theirs.includes(key))
        deepEqual({ name, extra }, { name, extra: [] })
      }
    }),
  )
})

describe("the scripted agent with a token", () => {
  effectTest("refuses one it does not know as the recorded one, word for word", () =>
    Effect.gen(function* () {
      const ofUnknown = (answers: ReadonlyArray<RecordedAnswer>) =>
        answers
          .filter(({ caller }) => caller === "unknown")
          .map(({ name, status, answer }) => ({ name, status, answer }))
      deepEqual(ofUnknown(yield* askOurs(converseAboutAccess, TOKEN)), ofUnknown(recordedAccess))
    }),
  )
})

const classOf = ({ target, status, answer }: RecordedAnswer) =>
  refusalOf({
    operation: target.startsWith("/v1/client/allocation/") ? "allocationStats" : "scaleJob",
    method: "POST",
    path: "/",
    status,
    body: answer,
  })

describe("recorded refusals where access control is on", () => {
  const refused = recordedAccess.filter(({ status }) => status >= 400)

  test("a token that is unknown, malformed, over or not enough is a denial, whatever is asked", () => {
    const exceptions: Readonly<Record<string, string>> = {
      "anonymous: run an invalid job": "InvalidJob",
      "reader: run an invalid job": "InvalidJob",
      "anonymous: stats of an unknown allocation": "SchedulerNotFound",
      "reader: stats of an unknown allocation": "SchedulerNotFound",
      "run in a namespace that is not there": "InvalidJob",
    }
    ok(refused.length > 40)
    for (const each of refused) {
      const error = classOf(each)
      equal(`${each.name}: ${error._tag}`, `${each.name}: ${exceptions[each.name] ?? "SchedulerDenied"}`)
      equal("applied" in error ? error.applied : undefined, "no")
    }
  })

  test("a denial says what was missing", () => {
    const reasons = Object.fromEntries(
      refused.map((each) => [each.name, (classOf(each) as { readonly reason?: string }).reason]),
    )
    equal(reasons["reader: scale"], "permission")
    equal(reasons["expired: stats"], "token")
    equal(reasons["malformed: stats"], "token")
    equal(reasons["run while registration is disabled"], "registration-disabled")
  })
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
    "an unknown path": "ForeignAnswer",
    "a wrong method": "SchedulerRefused",
    "a wrong wait": "SchedulerRefused",
    "a wrong index": "SchedulerRefused",
  }
  test("each is of one class, and was certainly not applied when it is the agent's own", () => {
    const refused = recorded.filter(({ status }) => status >= 400)
    ok(refused.length > 20)
    for (const each of refused) {
      const error = classOf(each)
      equal(`${each.name}: ${error._tag}`, `${each.name}: ${CLASSES[each.name]}`)
      const isForeign = error._tag === "ForeignAnswer"
      equal("applied" in error ? error.applied : undefined, isForeign ? "unknown" : "no")
    }
  })
})
