import { Effect, Layer, Redacted, Semaphore, Stream } from "effect"
import * as errors from "../../../domain/scheduler/errors.ts"
import { SchedulerPort } from "../../../domain/scheduler/scheduler_port.ts"
import { makeSecretMask } from "../../../domain/secret_mask.ts"
import { sendLogged } from "../exchange_log.ts"
import {
  type ExchangeFailed,
  type ExchangeRequest,
  type ExchangeResponse,
  send,
  sendStreaming,
  type TlsOptions,
} from "../http_exchange.ts"
import { type AgentAddress, readAddress, type WireRequest } from "./wire.ts"
import { makePort, type Transport } from "./wire_port.ts"

export interface HttpSchedulerOptions {
  /** Agent address, with or without a trailing `/v1` (seed 2.2); `unix:///path` for a socket. */
  readonly baseUrl: string
  /** ACL token. */
  readonly token?: Redacted.Redacted
  readonly scaleGroup: string
  /** Deadline of a read, milliseconds; 10000 when omitted. */
  readonly readTimeoutMs?: number
  /** Deadline of a change, milliseconds. 45000 when omitted: servers may take 35 s, a shorter wait would end unknown. */
  readonly writeTimeoutMs?: number
  /** Requests in flight at most; 32 when omitted. Agents refuse more than 100 connections of one address. */
  readonly maxInFlight?: number
  /** How often a call that passes is repeated; 0 when omitted: one call is one request. */
  readonly retries?: number
  readonly tls?: TlsOptions
  /** Logs every exchange at debug level, secrets masked (seed 2.2, option LogLevel). */
  readonly debug?: boolean
}

const READ_TIMEOUT_MS = 10_000
const WRITE_TIMEOUT_MS = 45_000
const MAX_IN_FLIGHT = 32

/** What a header value can carry: a token of other characters could never arrive as it is. */
const HEADER_VALUE = /^[\x21-\x7e\x80-\xff](?:[\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/

const refuse = (option: string, rule: string) => Effect.fail(new errors.InvalidSchedulerSetup({ option, rule }))

/** @fails {InvalidSchedulerSetup} naming the option that can never work */
export const checkOptions = Effect.fnUntraced(function* (options: HttpSchedulerOptions) {
  const address = readAddress(options.baseUrl)
  if ("rule" in address) return yield* refuse("baseUrl", address.rule)
  const token = options.token === undefined ? "" : Redacted.value(options.token)
  if (token !== "" && !HEADER_VALUE.test(token)) return yield* refuse("token", "must be a header value")
  if (options.scaleGroup === "") return yield* refuse("scaleGroup", "must not be empty")
  for (const option of ["readTimeoutMs", "writeTimeoutMs", "maxInFlight"] as const) {
    const value = options[option]
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0))
      return yield* refuse(option, "must be a whole number above 0")
  }
  if (options.retries !== undefined && !(Number.isSafeInteger(options.retries) && options.retries >= 0))
    return yield* refuse("retries", "must be a whole number, 0 or more")
  if ((options.tls !== undefined || address.unixSocket !== undefined) && !("Bun" in globalThis))
    return yield* refuse(options.tls === undefined ? "baseUrl" : "tls", "works only under Bun")
  return { address, token }
})

/** Both names: the seed's, and the one a real agent reads. None at all without a token. */
const headersOf = (address: AgentAddress, token: string): Headers =>
  new Headers({
    accept: "application/json",
    "user-agent": "portolan",
    ...(token === "" ? {} : { "x-scheduler-token": token, "x-nomad-token": token }),
    ...(address.authorization === undefined ? {} : { authorization: address.authorization }),
  })

const failureOf = (request: WireRequest, failure: ExchangeFailed): errors.SchedulerError => {
  const { operation, method, path } = request
  const call = { operation, method, path, applied: failure.applied }
  switch (failure.kind) {
    case "timeout":
      return new errors.SchedulerTimeout(call)
    case "redirected":
      return new errors.SchedulerRedirected({ ...call, applied: "no" })
    case "oversized":
      return new errors.UnreadableAnswer({ ...call, status: 200, body: "", rule: "is larger than 64 MiB" })
    case "network":
      return failure.applied === "no"
        ? new errors.SchedulerUnreachable({ ...call, reason: failure.detail ?? "connection" })
        : new errors.SchedulerConnectionLost(call)
  }
}

const makeTransport = (
  options: HttpSchedulerOptions,
  { address, token }: { readonly address: AgentAddress; readonly token: string },
  slots: Semaphore.Semaphore,
): Transport => {
  const headers = headersOf(address, token)
  const mask = makeSecretMask([token, address.authorization ?? ""])
  const sent = (described: ExchangeRequest) => (options.debug === true ? sendLogged(described, mask) : send(described))
  const deadline = ({ method, waitMs }: WireRequest): number =>
    method === "GET"
      ? // A blocking query may be held a sixteenth longer than asked.
        (options.readTimeoutMs ?? READ_TIMEOUT_MS) + Math.ceil((waitMs * 17) / 16)
      : (options.writeTimeoutMs ?? WRITE_TIMEOUT_MS)
  const headersWithBody = new Headers(headers)
  headersWithBody.set("content-type", "application/json")
  const always = {
    headers,
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    ...(address.unixSocket === undefined ? {} : { unixSocket: address.unixSocket }),
  }
  const exchange = (request: WireRequest): ExchangeRequest => {
    const { method, path, query, body } = request
    const asked = { ...always, method, url: address.url + path, query, timeoutMs: deadline(request) }
    return body === undefined ? asked : { ...asked, headers: headersWithBody, body }
  }
  /** Waiting requests (blocking queries, streams) take no slot: a few of them would hold up everything else. */
  const limited = (request: WireRequest, answer: Effect.Effect<ExchangeResponse, ExchangeFailed>) =>
    request.waitMs > 0 ? answer : slots.withPermit(answer)

  return {
    endpoint: address.unixSocket === undefined ? address.url : `unix://${address.unixSocket}`,
    mask: mask.text,
    send: (request) =>
      Effect.mapBoth(limited(request, sent(exchange(request))), {
        onSuccess: ({ status, text, headers }) => ({ status, text, index: headers.get("x-nomad-index") }),
        onFailure: (failure) => failureOf(request, failure),
      }),
    open: (request) =>
      sendStreaming(exchange(request)).pipe(
        Effect.map(({ status, chunks }) => ({
          status,
          chunks: chunks.pipe(Stream.mapError((failure) => failureOf(request, failure))),
        })),
        Effect.mapError((failure) => failureOf(request, failure)),
      ),
  }
}

/**
 * The scheduler's agent over HTTP.
 *
 * @fails {InvalidSchedulerSetup} naming the option that can never work
 * @see seed 2.2 and 4.3; contract section 3
 */
export const layer = (options: HttpSchedulerOptions): Layer.Layer<SchedulerPort, errors.InvalidSchedulerSetup> =>
  Layer.effect(
    SchedulerPort,
    Effect.gen(function* () {
      const checked = yield* checkOptions(options)
      const slots = yield* Semaphore.make(options.maxInFlight ?? MAX_IN_FLIGHT)
      return makePort(makeTransport(options, checked, slots), {
        scaleGroup: options.scaleGroup,
        retries: options.retries ?? 0,
      })
    }),
  )
