// One conversation with a scheduler's agent: the same requests are put to a real one (and its answers recorded) and to ours.

/** Whose token a request carries, where access control is on. */
export type Caller = "anonymous" | "unknown" | "malformed" | "expired" | "reader" | "management"

export interface Question {
  readonly name: string
  readonly caller?: Caller
  readonly method: "GET" | "POST" | "DELETE" | "PATCH"
  /** `{node}` and `{allocation}` stand for ids the agent gave. */
  readonly target: string
  readonly body?: string
  /** Pause before it, milliseconds: a deployment has to end. */
  readonly afterMs?: number
}

export interface RecordedAnswer extends Question {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly answer: string
}

export interface Recording {
  readonly version: string
  readonly answers: ReadonlyArray<RecordedAnswer>
}

const GROUP = "restreamer"
const ID = "portolan/one"
const PATH = `/v1/job/${encodeURIComponent(ID)}`
const NOBODY = "00000000-0000-0000-0000-000000000000"

const group = (name: string) => ({
  Name: name,
  Count: 1,
  Update: { MinHealthyTime: 2_000_000_000, HealthyDeadline: 60_000_000_000, ProgressDeadline: 120_000_000_000 },
  Tasks: [{ Name: "t", Driver: "mock_driver", Config: { run_for: "1h" }, Resources: { CPU: 20, MemoryMB: 20 } }],
})
const job = (id: string, ...groups: ReadonlyArray<string>) => ({
  ID: id,
  Name: id,
  Type: "service",
  Datacenters: ["dc1"],
  TaskGroups: groups.map(group),
})
const scale = (count: unknown, more: object = {}) => JSON.stringify({ Count: count, Target: { Group: GROUP }, ...more })

/** A deployment ends this long after its allocations run. */
const DEPLOYED_MS = 6000

const CONVERSATION: ReadonlyArray<Question> = [
  { name: "run", method: "POST", target: "/v1/jobs?region=", body: JSON.stringify({ Job: job(ID, GROUP) }) },
  {
    name: "scale during a deployment",
    method: "POST",
    target: `${PATH}/scale?region=`,
    body: scale(0),
    afterMs: 500,
  },
  { name: "get", method: "GET", target: `${PATH}?region=` },
  { name: "scale to 0", method: "POST", target: `${PATH}/scale?region=`, body: scale(0), afterMs: DEPLOYED_MS },
  { name: "scale to 0 again: no deployment", method: "POST", target: `${PATH}/scale?region=`, body: scale(0) },
  { name: "scale status", method: "GET", target: `${PATH}/scale?region=` },
  { name: "scale to 1", method: "POST", target: `${PATH}/scale?region=`, body: scale(1) },
  {
    name: "scale during the deployment that made",
    method: "POST",
    target: `${PATH}/scale?region=`,
    body: scale(1),
    afterMs: 500,
  },
  {
    name: "allocations of the node",
    method: "GET",
    target: "/v1/node/{node}/allocations?region=",
    afterMs: DEPLOYED_MS,
  },
  { name: "stats", method: "GET", target: "/v1/client/allocation/{allocation}/stats?region=" },
  {
    name: "plan",
    method: "POST",
    target: `${PATH}/plan?region=`,
    body: JSON.stringify({ Job: job(ID, GROUP), Diff: true }),
  },
  {
    name: "run two groups",
    method: "POST",
    target: "/v1/jobs?region=",
    body: JSON.stringify({ Job: job("two", GROUP, "other") }),
  },
  {
    name: "two groups: scale to 0",
    method: "POST",
    target: "/v1/job/two/scale?region=",
    body: scale(0),
    afterMs: DEPLOYED_MS,
  },
  {
    name: "two groups: scale to 1 one second later",
    method: "POST",
    target: "/v1/job/two/scale?region=",
    body: scale(1),
    afterMs: 900,
  },
  { name: "delete", method: "DELETE", target: `${PATH}?purge=false&region=` },
  { name: "get a deleted job", method: "GET", target: `${PATH}?region=` },
  { name: "purge", method: "DELETE", target: `${PATH}?purge=true&region=` },
  { name: "purge the other", method: "DELETE", target: "/v1/job/two?purge=true&region=" },
  { name: "get a purged job", method: "GET", target: `${PATH}?region=` },
  { name: "delete an unknown job", method: "DELETE", target: "/v1/job/nope?purge=false&region=" },
  { name: "delete with a wrong purge", method: "DELETE", target: "/v1/job/nope?purge=junk&region=" },
  { name: "scale an unknown job", method: "POST", target: "/v1/job/nope/scale?region=", body: scale(0) },
  { name: "status of an unknown job", method: "GET", target: "/v1/job/nope/scale?region=" },
  {
    name: "run for refusals",
    method: "POST",
    target: "/v1/jobs?region=",
    body: JSON.stringify({ Job: job("refusals", GROUP) }),
  },
  {
    name: "scale an unknown group",
    method: "POST",
    target: "/v1/job/refusals/scale?region=",
    body: JSON.stringify({ Count: 0, Target: { Group: "zz" } }),
    afterMs: DEPLOYED_MS,
  },
  {
    name: "scale no group",
    method: "POST",
    target: "/v1/job/refusals/scale?region=",
    body: JSON.stringify({ Count: 0, Target: { Group: "" } }),
  },
  { name: "scale below 0", method: "POST", target: "/v1/job/refusals/scale?region=", body: scale(-1) },
  { name: "scale by a fraction", method: "POST", target: "/v1/job/refusals/scale?region=", body: scale(1.5) },
  {
    name: "scale against an index",
    method: "POST",
    target: "/v1/job/refusals/scale?region=",
    body: scale(2, { JobModifyIndex: 5 }),
  },
  { name: "scale in an unknown region", method: "POST", target: "/v1/job/refusals/scale?region=mars", body: scale(2) },
  { name: "purge for refusals", method: "DELETE", target: "/v1/job/refusals?purge=true&region=" },
  { name: "run a bare definition", method: "POST", target: "/v1/jobs?region=", body: JSON.stringify(job("x", GROUP)) },
  { name: "run an invalid job", method: "POST", target: "/v1/jobs?region=", body: '{"Job":{"ID":"x y","Name":"x"}}' },
  {
    name: "run a job without groups",
    method: "POST",
    target: "/v1/jobs?region=",
    body: '{"Job":{"ID":"x","Name":"x"}}',
  },
  { name: "run broken JSON", method: "POST", target: "/v1/jobs?region=", body: '{"Job":{' },
  { name: "run nothing", method: "POST", target: "/v1/jobs?region=" },
  {
    name: "plan another job",
    method: "POST",
    target: "/v1/job/x/plan?region=",
    body: JSON.stringify({ Job: job("y", GROUP) }),
  },
  { name: "stats of an unknown allocation", method: "GET", target: `/v1/client/allocation/${NOBODY}/stats?region=` },
  { name: "stats of a short id", method: "GET", target: "/v1/client/allocation/abc/stats?region=" },
  { name: "allocations of an unknown node", method: "GET", target: `/v1/node/${NOBODY}/allocations?region=` },
  { name: "an unknown path", method: "GET", target: "/v1/nonsense" },
  { name: "a wrong method", method: "PATCH", target: "/v1/jobs" },
  { name: "a wrong wait", method: "GET", target: "/v1/job/nope?index=1&wait=x" },
  { name: "a wrong index", method: "GET", target: "/v1/job/nope?index=x" },
]

/** What every operation is asked, whoever asks. */
const ASKED_BY_ALL: ReadonlyArray<Question> = [
  { name: "get", method: "GET", target: `${PATH}?region=` },
  { name: "scale status", method: "GET", target: `${PATH}/scale?region=` },
  { name: "scale", method: "POST", target: `${PATH}/scale?region=`, body: scale(0) },
  { name: "delete", method: "DELETE", target: `${PATH}?purge=false&region=` },
  { name: "run", method: "POST", target: "/v1/jobs?region=", body: JSON.stringify({ Job: job(ID, GROUP) }) },
  { name: "run an invalid job", method: "POST", target: "/v1/jobs?region=", body: '{"Job":{"ID":"x y","Name":"x"}}' },
  {
    name: "plan",
    method: "POST",
    target: `${PATH}/plan?region=`,
    body: JSON.stringify({ Job: job(ID, GROUP), Diff: true }),
  },
  { name: "allocations of the node", method: "GET", target: "/v1/node/{node}/allocations?region=" },
  { name: "stats", method: "GET", target: "/v1/client/allocation/{allocation}/stats?region=" },
  { name: "stats of an unknown allocation", method: "GET", target: `/v1/client/allocation/${NOBODY}/stats?region=` },
]

const asked = (caller: Caller): ReadonlyArray<Question> =>
  ASKED_BY_ALL.map((question) => ({ ...question, name: `${caller}: ${question.name}`, caller }))

/** Put to an agent with access control on: callers it knows, knows no more, and never knew. */
const ACCESS_CONVERSATION: ReadonlyArray<Question> = [
  {
    name: "run",
    caller: "management",
    method: "POST",
    target: "/v1/jobs?region=",
    body: JSON.stringify({ Job: job(ID, GROUP) }),
  },
  {
    name: "allocations of the node",
    caller: "management",
    method: "GET",
    target: "/v1/node/{node}/allocations?region=",
    afterMs: DEPLOYED_MS,
  },
  ...asked("anonymous"),
  ...asked("unknown"),
  ...asked("malformed"),
  ...asked("expired"),
  ...asked("reader"),
  {
    name: "run in a namespace that is not there",
    caller: "management",
    method: "POST",
    target: "/v1/jobs?namespace=mars&region=",
    body: JSON.stringify({ Job: job(ID, GROUP) }),
  },
  {
    name: "disable registration",
    caller: "management",
    method: "POST",
    target: "/v1/operator/scheduler/configuration",
    body: '{"SchedulerAlgorithm":"binpack","RejectJobRegistration":true}',
  },
  {
    name: "run while registration is disabled",
    caller: "reader",
    method: "POST",
    target: "/v1/jobs?region=",
    body: JSON.stringify({ Job: job(ID, GROUP) }),
  },
]

/** Header fields that mean something to a client. */
const KEPT = /^(content-type|x-nomad-(index|knownleader|lastcontact))$/

export interface Reply {
  readonly status: number
  readonly headers: Iterable<readonly [string, string]>
  readonly text: string
}

export interface Conversable {
  readonly nodeId: string
  readonly ask: (question: Question) => Promise<Reply>
  readonly pause: (ms: number) => Promise<void>
}

const converseAbout = async (
  conversation: ReadonlyArray<Question>,
  agent: Conversable,
): Promise<ReadonlyArray<RecordedAnswer>> => {
  const answers: Array<RecordedAnswer> = []
  let allocation = ""
  for (const question of conversation) {
    if (question.afterMs !== undefined) await agent.pause(question.afterMs)
    const target = question.target.replace("{node}", agent.nodeId).replace("{allocation}", allocation)
    const { status, headers, text } = await agent.ask({ ...question, target })
    if (question.name === "allocations of the node") {
      const all = JSON.parse(text) as ReadonlyArray<{ readonly ID: string; readonly ClientStatus: string }>
      allocation = all.find(({ ClientStatus }) => ClientStatus === "running")?.ID ?? ""
    }
    answers.push({
      ...question,
      status,
      headers: Object.fromEntries([...headers].filter(([name]) => KEPT.test(name))),
      answer: text,
    })
  }
  return answers
}

/** Puts the conversation to an agent that lets everybody in and gives its answers. */
export const converse = (agent: Conversable) => converseAbout(CONVERSATION, agent)

/** Puts the conversation about access to an agent with access control on. */
export const converseAboutAccess = (agent: Conversable) => converseAbout(ACCESS_CONVERSATION, agent)

export type Tokens = Readonly<Record<Caller, string | undefined>>

/** An agent that is talked to over HTTP. */
export const overHttp = (url: string, nodeId: string, tokens?: Tokens): Conversable => ({
  nodeId,
  pause: Bun.sleep,
  ask: async ({ method, target, body, caller = "anonymous" }) => {
    const token = tokens?.[caller]
    const headers = token === undefined ? {} : { "x-nomad-token": token }
    const response = await fetch(url + target, { method, headers, ...(body === undefined ? {} : { body }) })
    return { status: response.status, headers: response.headers, text: await response.text() }
  },
})
