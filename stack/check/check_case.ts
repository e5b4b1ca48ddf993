import type { Header } from "../../domain/gateway/verdict.ts"
import type { Echo } from "../upstream/echo_server.ts"
import type { CredentialName, TokenBase } from "./credentials.ts"
import type { ReasonName } from "./reasons.ts"

/** Part of the report that a case belongs to. */
export type CheckGroup = "routes" | "tokens" | "paths" | "protocol" | "identity" | "login"

/** Kinds of difference, gravest first. */
export const SEVERITIES = ["hole", "leak", "wrong answer", "stricter than ours"] as const
/**
 * How grave a difference is. `hole`: a refusal was expected and the upstream was reached. `leak`: a header or a cookie arrived
 * that must not. `wrong answer`: answered otherwise, and nothing was let through. `stricter than ours`: refused where our
 * own gateway lets the request through.
 */
export type Severity = (typeof SEVERITIES)[number]

/** What is different, and how grave that is. */
export interface Difference {
  readonly severity: Severity
  readonly text: string
}

/** One question to a gateway, and the only right answers. */
export interface CheckCase {
  readonly group: CheckGroup
  readonly name: string
  /** Why a difference matters. */
  readonly reason: ReasonName
  /** The credential and the route of a row of the tokens' matrix. */
  readonly cell?: { readonly credential: string; readonly route: string }
  /** `GET` when absent. */
  readonly method?: string
  /** Request target exactly as it goes over the wire. */
  readonly target: string
  readonly headers?: ReadonlyArray<Header>
  readonly credential?: CredentialName
  /** Which good token a broken one is made from; the access token when absent. */
  readonly base?: TokenBase
  /** Everything after the request line instead of the usual headers, for requests no client library would send. */
  readonly rawRest?: string
  /** Right answers: the status, statuses of several answers on one connection, or `closed` without an answer. */
  readonly expect: ReadonlyArray<string>
  /** What people read of them, where the list is long. */
  readonly expectation?: string
  /** What is wrong with what the upstream received; asked only when it echoes. */
  readonly received?: (echo: Echo) => Difference | undefined
  /** What is wrong with the answer's headers, as text. */
  readonly answered?: (head: string) => Difference | undefined
  /** True when a request that passes says nothing as long as the upstream does not tell what it received. */
  readonly needsEcho?: true
  /** True when every gateway must let it through: a refusal is no strictness then, the route does not work. */
  readonly mustPass?: true
  /** True when the caller may have what is asked for anyway: reaching the upstream is a wrong answer and no hole. */
  readonly harmless?: true
  /**
   * The request asks for an open path, and a second one hides in its body, which must never count as a request. Answers that
   * are right too when only the first one reached the upstream; none when empty.
   */
  readonly hides?: ReadonlyArray<string>
  /** True when a second request, which must be refused, follows on the same connection. */
  readonly pipelines?: true
}

/** True when no right answer lets a request through, so the upstream must not notice anything. */
export const isRefusal = ({ expect }: CheckCase): boolean => expect.every((answer) => !/2\d\d/.test(answer))

/** A header or a cookie arrived that must not. */
export const leak = (text: string): Difference => ({ severity: "leak", text })

/** Answered or handed on otherwise than is right. */
export const wrong = (text: string): Difference => ({ severity: "wrong answer", text })
