import type { Header } from "../../domain/gateway/verdict.ts"
import type { Echo } from "../upstream/echo_server.ts"
import type { CredentialName } from "./credentials.ts"

/** Part of the report that a case belongs to. */
export type CheckGroup = "routes" | "tokens" | "paths" | "protocol" | "identity" | "login"

/** One question to a gateway, and the only right answers. */
export interface CheckCase {
  readonly group: CheckGroup
  readonly name: string
  /** `GET` when absent. */
  readonly method?: string
  /** Request target exactly as it goes over the wire. */
  readonly target: string
  readonly headers?: ReadonlyArray<Header>
  readonly credential?: CredentialName
  /** Everything after the request line instead of the usual headers, for requests no client library would send. */
  readonly rawRest?: string
  /** Right answers: the status, statuses of several answers on one connection, or `closed` without an answer. */
  readonly expect: ReadonlyArray<string>
  /** What is wrong with what the upstream received; asked only when it echoes. */
  readonly received?: (echo: Echo) => string | undefined
  /** What is wrong with the answer's headers, as text. */
  readonly answered?: (head: string) => string | undefined
}

/** True when no right answer lets a request through, so the upstream must not notice anything. */
export const isRefusal = ({ expect }: CheckCase): boolean => expect.every((answer) => !/2\d\d/.test(answer))
