import { Effect, Layer } from "effect"
import * as httpProbe from "../adapters/driven/media_graph/http_probe.ts"
import type { MediaTools } from "../adapters/driving/cli/media_work.ts"
import { InvalidConfiguration, readEnvironment } from "./config.ts"
import { makeLog } from "./log_output.ts"
import { graphSetup } from "./media_area.ts"
import { dryRun } from "./media_dry_run.ts"
import { graphLayer } from "./media_layers.ts"
import { storeLayer } from "./store.ts"

const MISSING = new InvalidConfiguration({
  mistakes: [
    { variable: "GRAPH_URL", rule: "is required by 'media'" },
    { variable: "GRAPH_API_VERSION", rule: "is required by 'media'" },
  ],
})

/** Reads the environment when a command runs. The journal is the store's, the one the service writes too. */
export const tools = Effect.gen(function* () {
  const config = yield* readEnvironment
  const checked = yield* graphSetup(config, {})
  if (checked === undefined) return yield* MISSING
  // Results go to standard output, so the log must not.
  const log = makeLog(config, { write: (line) => process.stderr.write(`${line}\n`), flush: () => {} })
  const found: MediaTools = {
    graph: Layer.provideMerge(graphLayer(checked), log.layer),
    probe: httpProbe.layer(checked.connection),
    journal: storeLayer(config),
    dryRun: (accountId, input, publishes) => dryRun(checked, accountId, input, publishes),
    accountId: config.GRAPH_ACCOUNT_ID,
    appId: config.GRAPH_APP_ID,
    appSecret: config.GRAPH_APP_SECRET,
  }
  return found
})
