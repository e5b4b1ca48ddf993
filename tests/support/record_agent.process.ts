// Records a real agent's side of the conversation: bun tests/support/record_agent.process.ts http://127.0.0.1:4646
import { writeFileSync } from "node:fs"
import { converseOverHttp } from "./agent_conversation.ts"

const [url = "http://127.0.0.1:4646"] = process.argv.slice(2)
const self = (await (await fetch(`${url}/v1/agent/self`)).json()) as {
  readonly config: { readonly Version: { readonly Version: string } }
}
const version = self.config.Version.Version
const answers = await converseOverHttp(url, Bun.sleep)
writeFileSync(`tests/fixtures/nomad/${version}.json`, `${JSON.stringify({ version, answers }, undefined, 1)}\n`)
process.stdout.write(`${answers.length} answers of ${version}\n`)
