// The library's stack face, `portolan/stack`: a gateway, an identity provider and an upstream to test authorization
// against, and the check of any gateway.
//
//   const stack = createStack({ home: ".portolan" })
//   const { urls } = await stack.up({ gateway: "3.9", proxyPort: 0, idpPort: 0, upstreamPort: 0 })
//   const token = await stack.token("access")
//   const { severities } = await stack.check()
//   await stack.down()
import { resolve } from "node:path"
import { Effect } from "effect"
import { conflictsOf, STACK_DEFAULTS, type StackOptions } from "../domain/gateway/stack_options.ts"
import type { CheckRow } from "../stack/check/ask_case.ts"
import { checkTarget } from "../stack/check/check_target.ts"
import { mappedGateway, stackGateway } from "../stack/check/checked_gateway.ts"
import { junitXml } from "../stack/check/junit_xml.ts"
import { reportPage } from "../stack/check/report_page.ts"
import { type CheckResult, type CheckTarget, check } from "../stack/check/run_check.ts"
import { sarifLog } from "../stack/check/sarif_log.ts"
import { down } from "../stack/down.ts"
import { StackFailed, StackNotRunning, StackRefused } from "../stack/errors.ts"
import { REALM } from "../stack/realm.ts"
import type { StackState } from "../stack/state.ts"
import { type StackStatus, status } from "../stack/status.ts"
import { type ShownKind, type TokenSource, token } from "../stack/token.ts"
import { up } from "../stack/up.ts"

export {
  type CheckResult,
  type CheckRow,
  type CheckTarget,
  junitXml,
  mappedGateway,
  reportPage,
  StackFailed,
  StackNotRunning,
  type StackOptions,
  StackRefused,
  type StackStatus,
  sarifLog,
  stackGateway,
  type TokenSource,
}

/** A stack that is up. */
export interface RunningStack {
  /** Origins of gateway, identity provider and upstream. */
  readonly urls: StackState["urls"]
  readonly realm: string
  readonly user: { readonly name: string; readonly password: string }
  readonly options: StackOptions
}

/** Where a stack keeps its files, and who hears of its progress. */
export interface StackSetup {
  /** Folder of state and logs. */
  readonly home: string
  /** Takes lines of progress; dropped when absent. */
  readonly progress?: (line: string) => void
}

/** A stack of one home folder. It goes on running when this program ends; `down` stops it. */
export interface Stack {
  /**
   * Brings the stack up; changes nothing when it is up with the same options.
   *
   * @throws {StackRefused} on options that cannot be, busy ports, another stack with other options
   * @throws {StackFailed} when a part does not become ready
   */
  readonly up: (options?: Partial<StackOptions>) => Promise<RunningStack>
  readonly status: () => Promise<StackStatus>
  /**
   * A fresh token of the test user.
   *
   * @throws {StackNotRunning} when there is no stack
   */
  readonly token: (kind?: ShownKind) => Promise<string>
  /**
   * Asks a gateway everything it should refuse: this stack's own, or another.
   *
   * @throws {StackNotRunning} when no target is given and there is no stack
   */
  readonly check: (target?: CheckTarget) => Promise<CheckResult>
  /** Stops the stack; false when there was none. */
  readonly down: () => Promise<boolean>
}

/** Makes the handle of a stack; nothing is started by it. */
export const createStack = ({ home: folder, progress = () => {} }: StackSetup): Stack => {
  const home = resolve(folder)
  return {
    up: (options = {}) =>
      Effect.runPromise(
        Effect.gen(function* () {
          const wanted: StackOptions = { ...STACK_DEFAULTS, ...options }
          const reasons = conflictsOf(wanted)
          if (reasons.length > 0) return yield* new StackRefused({ reasons })
          const state = yield* up(home, wanted, progress)
          const { urls, options: taken, secrets } = state
          return {
            urls,
            realm: REALM.name,
            user: { name: REALM.user.name, password: secrets.userPassword },
            options: taken,
          }
        }),
      ),
    status: () => Effect.runPromise(status(home)),
    token: (kind = "access") => Effect.runPromise(token(home, kind)),
    check: (target) =>
      Effect.runPromise(
        Effect.flatMap(target === undefined ? checkTarget(home, {}) : Effect.succeed(target), (each) => check(each)),
      ),
    down: () => Effect.runPromise(down(home)),
  }
}
