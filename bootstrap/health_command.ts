import { Data, Effect } from "effect"
import { done } from "../adapters/driving/cli/command.ts"
import { isObject } from "../domain/json_object.ts"
import { InvalidConfiguration, readEnvironment } from "./config.ts"

/** Milliseconds the service may take to answer. */
const ANSWER_MS = 3000

/** The service does not answer, or says that it is not ready. */
export class NotReady extends Data.TaggedError("NotReady")<{ readonly url: string; readonly reason: string }> {
  readonly code = "NOT_READY"
  override get message(): string {
    return `${this.url} is not ready: ${this.reason}`
  }
}

/** An address that stands for every one of this machine is none that can be asked. */
const ASKED: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" }

/** Where a listener of this machine is asked. */
export const addressOf = (listensOn: string, port: number): string => {
  const host = ASKED[listensOn] ?? listensOn
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`
}

/** Where the service of an address says whether it is ready. */
const readinessUrl = (address: string, port: number): string => `${addressOf(address, port)}/health/ready`

/** The code of a problem body, which says what is missing. */
const codeOf = (text: string): string | undefined => {
  try {
    const body: unknown = JSON.parse(text)
    return isObject(body) && typeof body["code"] === "string" ? body["code"] : undefined
  } catch {
    return undefined
  }
}

/**
 * `portolan health`: asks once; the wait and the next try belong to whoever runs the check.
 *
 * @param asked port to ask at; ADMIN_PORT when undefined, else PORT
 */
export const health = Effect.fnUntraced(function* (asked: number | undefined) {
  const config = yield* readEnvironment
  const port = asked ?? config.ADMIN_PORT ?? config.PORT
  if (port === 0)
    return yield* new InvalidConfiguration({
      mistakes: [
        {
          variable: config.ADMIN_PORT === undefined ? "PORT" : "ADMIN_PORT",
          rule: "must name the port: 0 took a free one, which only the service knows; see --port",
        },
      ],
    })
  const url = readinessUrl(config.HOST, port)
  const { status, text } = yield* Effect.tryPromise({
    try: async () => {
      const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(ANSWER_MS) })
      return { status: response.status, text: await response.text() }
    },
    catch: () => new NotReady({ url, reason: `no answer within ${ANSWER_MS / 1000} s, or no connection` }),
  })
  if (status !== 200) return yield* new NotReady({ url, reason: codeOf(text) ?? `it answered ${status}` })
  return done({ status: "ready", url }, "ready")
})
