import { Data, Effect } from "effect"
import { done } from "../adapters/driving/cli/command.ts"
import { isObject } from "../domain/json_object.ts"
import { type Config, InvalidConfiguration, readEnvironment } from "./config.ts"

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

/** Where the service of a configuration says whether it is ready. */
export const readinessUrl = ({ HOST, PORT, ADMIN_PORT }: Pick<Config, "HOST" | "PORT" | "ADMIN_PORT">): string =>
  `${addressOf(HOST, ADMIN_PORT ?? PORT)}/health/ready`

/** The code of a problem body, which says what is missing. */
const codeOf = (text: string): string | undefined => {
  try {
    const body: unknown = JSON.parse(text)
    return isObject(body) && typeof body["code"] === "string" ? body["code"] : undefined
  } catch {
    return undefined
  }
}

/** `portolan health`: asks once; the wait and the next try belong to whoever runs the check. */
export const health = Effect.gen(function* () {
  const config = yield* readEnvironment
  const url = readinessUrl(config)
  const variable = config.ADMIN_PORT === undefined ? "PORT" : "ADMIN_PORT"
  if (config[variable] === 0)
    return yield* new InvalidConfiguration({
      mistakes: [{ variable, rule: "must name the port: 0 took a free one, which nobody but the service knows" }],
    })
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
