import { readFile } from "node:fs/promises"
import { Effect, Redacted } from "effect"
import { layer } from "../adapters/driven/remote_records/http.ts"
import type { FindService } from "../adapters/driving/cli/records.ts"
import { UnreadableFile } from "../adapters/driving/cli/unreadable_file.ts"
import { InvalidConfiguration, readEnvironment, VARIABLES } from "./config.ts"
import { addressOf } from "./health_command.ts"

/** The token of a file, without the line break that an editor adds. */
const tokenIn = (path: string) =>
  Effect.tryPromise({
    try: async () => Redacted.make((await readFile(path, "utf8")).trim()),
    catch: () => new UnreadableFile({ path, rule: "cannot be read" }),
  })

/** What `portolan records` asks: the service that its words name, else the one of the environment. */
export const findService: FindService = Effect.fnUntraced(function* ({ url, tokenFile }) {
  const config = yield* readEnvironment
  const named = url === undefined ? { value: config.RECORDS_URL } : VARIABLES.RECORDS_URL.parse(url)
  if ("rule" in named) return yield* new InvalidConfiguration({ mistakes: [{ variable: "--url", rule: named.rule }] })
  const place = named.value ?? addressOf(config.HOST, config.PORT)
  const token = tokenFile === undefined ? config.RECORDS_TOKEN : yield* tokenIn(tokenFile)
  return { url: place, layer: layer({ url: place, token }) }
})
