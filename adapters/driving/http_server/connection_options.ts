import type { Answer } from "./answer.ts"
import type { ArrivedRequest } from "./arrived_request.ts"
import type { ParseRefusal } from "./message_parser.ts"

/** Why a request is refused before anybody is asked. */
export type Refusal = ParseRefusal | "invalid-host" | "too-slow"

/** What a server does with requests, and how long it waits. */
export interface ConnectionOptions {
  readonly handle: (request: ArrivedRequest) => Answer | Promise<Answer>
  /** The answer to what is no request. */
  readonly refuse: (refusal: Refusal) => Answer
  /** The answer when `handle` threw. */
  readonly fail: (failure: unknown) => Answer
  /** Time without a byte in either direction after which a connection is closed, milliseconds. */
  readonly idleMs: number
  /** Time the head of a request may take, milliseconds. */
  readonly headMs: number
}

/** The server's clock. It ticks coarsely: no connection asks the time for itself. */
export interface Clock {
  /** Milliseconds, monotonic. */
  readonly now: number
  /** The `Date` header. */
  readonly date: string
}
