// A stack of its own for a test file: random ports, its own home folder, gone afterwards.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { STACK_DEFAULTS, type StackOptions } from "../../domain/gateway/stack_options.ts"
import { askControl } from "../../stack/control.ts"
import { down } from "../../stack/down.ts"
import type { StackState } from "../../stack/state.ts"
import { up } from "../../stack/up.ts"

export const FREE_PORTS: StackOptions = { ...STACK_DEFAULTS, proxyPort: 0, idpPort: 0, upstreamPort: 0 }

export const newHome = (): string => mkdtempSync(join(tmpdir(), "portolan-stack-"))

export interface RunningStack {
  readonly home: string
  readonly state: StackState
  readonly stop: () => Promise<void>
}

export const silent = () => {}

/** Milliseconds a test that starts a stack may take on a busy machine. */
export const STACK_TEST_MS = 60_000

export const startStack = async (options: Partial<StackOptions> = {}): Promise<RunningStack> => {
  const home = newHome()
  const state = await Effect.runPromise(up(home, { ...FREE_PORTS, ...options }, silent))
  return {
    home,
    state,
    stop: async () => {
      await Effect.runPromise(down(home))
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** Requests the upstream has answered. */
export const upstreamHits = async ({ urls, secrets }: StackState): Promise<number> => {
  const report = await askControl(urls.upstream, secrets.control)
  if (typeof report === "string") throw new Error(`the upstream does not answer: ${report}`)
  return report.hits
}
