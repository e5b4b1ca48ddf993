// One conversation with a scheduler's agent: the same requests are put to a real one (and its answers recorded) and to ours.
import recording from "../fixtures/nomad/1.10.5.json" with { type: "json" }
import accessRecording from "../fixtures/nomad/1.10.5-access-control.json" with { type: "json" }

/** Whose token a request carries, where access control is on: callers an agent knows, knows no more, and never knew. */
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

/**
 * What was asked, in order. A new question is written into a recording beside the others, and gets its answer when the
 * recording is made anew (`record_agent.process.ts`).
 */
const questionsOf = ({ answers }: Recording): ReadonlyArray<Question> =>
  answers.map(({ status: _status, headers: _headers, answer: _answer, ...question }) => question)

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
export const converse = (agent: Conversable) => converseAbout(questionsOf(recording as Recording), agent)

/** Puts the conversation about access to an agent with access control on. */
export const converseAboutAccess = (agent: Conversable) =>
  converseAbout(questionsOf(accessRecording as Recording), agent)

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
