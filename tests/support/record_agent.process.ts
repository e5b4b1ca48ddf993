// Records a real agent's side of the conversations: bun tests/support/record_agent.process.ts, with a `nomad` on the PATH.
import { writeFileSync } from "node:fs"
import { converse, converseAboutAccess, overHttp, type RecordedAnswer, type Tokens } from "./agent_conversation.ts"
import { startNomad } from "./nomad_agent.ts"

const record = (name: string, version: string, answers: ReadonlyArray<RecordedAnswer>): void => {
  writeFileSync(`tests/fixtures/nomad/${name}.json`, `${JSON.stringify({ version, answers }, undefined, 1)}\n`)
  process.stdout.write(`${answers.length} answers of ${name}\n`)
}

const open = await startNomad({ acl: false })
const self = (await (await fetch(`${open.url}/v1/agent/self`)).json()) as {
  readonly config: { readonly Version: { readonly Version: string } }
}
const version = self.config.Version.Version
record(version, version, await converse(overHttp(open.url, open.nodeId)))
await open.stop()

const guarded = await startNomad({ acl: true })
const management = guarded.token ?? ""
const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
  const headers = { "x-nomad-token": management }
  const response = await fetch(`${guarded.url}/v1/acl/${path}`, { method: "POST", headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
  const text = await response.text()
  return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>)
}
const tokenOf = async (more: object) =>
  String((await post("token", { Name: "reader", Type: "client", Policies: ["reader"], ...more }))["SecretID"])

await post("policy/reader", { Name: "reader", Rules: 'namespace "default" { policy = "read" }' })
const tokens: Tokens = {
  anonymous: undefined,
  unknown: "00000000-0000-0000-0000-000000000000",
  malformed: "no-uuid",
  // Over by the time it is used.
  expired: await tokenOf({ ExpirationTTL: 1_000_000_000 }),
  reader: await tokenOf({}),
  management,
}
record(`${version}-access-control`, version, await converseAboutAccess(overHttp(guarded.url, guarded.nodeId, tokens)))
await guarded.stop()
