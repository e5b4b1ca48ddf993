// The agent that the documents' samples and commands talk to: it runs the jobs that they name.
import { type FakeAgent, startFakeAgent } from "../support/fake_agent.ts"

/** The token that every request needs, as `agent.token` of a reader's folder holds it. */
export const AGENT_TOKEN = "token-of-the-agent"

/** Starts an agent that runs these jobs; none of them has a deployment that is still going on. */
export const startAgentWith = async (ids: ReadonlyArray<string>): Promise<FakeAgent> => {
  const agent = await startFakeAgent({ token: AGENT_TOKEN })
  for (const id of ids) {
    const group = { Name: "restreamer", Count: 1, Tasks: [], Update: { MinHealthyTime: 0 } }
    const { status } = await fetch(`${agent.url}/v1/jobs`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-nomad-token": AGENT_TOKEN },
      body: JSON.stringify({ Job: { ID: id, Name: id, Type: "service", TaskGroups: [group] } }),
    })
    if (status !== 200) throw new Error(`the agent refuses ${id} with ${status}`)
  }
  return agent
}

/** The counts that the agent was asked to scale a job to. */
export const scaledTo = ({ requests }: FakeAgent, id: string): ReadonlyArray<unknown> =>
  requests
    .filter(({ method, target }) => method === "POST" && target.startsWith(`/v1/job/${id}/scale?`))
    .map(({ body }) => (JSON.parse(body) as { readonly Count?: unknown }).Count)
