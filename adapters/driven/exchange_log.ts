import { Clock, Effect, References } from "effect"
import type { SecretMask } from "../../domain/secret_mask.ts"
import { type ExchangeFailed, type ExchangeRequest, type ExchangeResponse, send } from "./http_exchange.ts"

/** Characters of a body that are shown, after masking. */
const SHOWN = 1024

/** A body as its size and, for JSON, its beginning with secrets masked; of anything else only the size is safe. */
const bodyShown = (body: string, mask: SecretMask): Readonly<Record<string, unknown>> => {
  if (body === "") return { length: 0 }
  try {
    const text = JSON.stringify(mask.fields(JSON.parse(body)))
    return { length: body.length, json: text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text }
  } catch {
    return { length: body.length }
  }
}

const requestShown = ({ method, url, query, headers, body = "" }: ExchangeRequest, mask: SecretMask) => {
  const { origin, pathname } = new URL(url)
  return {
    method,
    url: mask.text(`${origin}${pathname}${query === undefined ? "" : `?${query}`}`),
    headers: mask.fields(Object.fromEntries(new Headers(headers))),
    body: bodyShown(body, mask),
  }
}

/**
 * Sends one exchange as {@link send} does, and logs it at debug level, whatever the log's own level: the answer or what
 * failed, and how many milliseconds it took.
 *
 * @param mask removes secrets from addresses, headers and bodies
 * @fails {ExchangeFailed} as `send` does
 * @see specification 2.2, option LogLevel
 */
export const sendLogged = (
  request: ExchangeRequest,
  mask: SecretMask,
): Effect.Effect<ExchangeResponse, ExchangeFailed> =>
  Effect.gen(function* () {
    const began = yield* Clock.currentTimeMillis
    const log = Effect.fnUntraced(function* (outcome: Readonly<Record<string, unknown>>) {
      const durationMs = (yield* Clock.currentTimeMillis) - began
      yield* Effect.logDebug("HTTP exchange", { ...requestShown(request, mask), ...outcome, durationMs })
    })
    return yield* send(request).pipe(
      Effect.tap(({ status, headers, text }) =>
        log({
          status,
          responseHeaders: mask.fields(Object.fromEntries(headers)),
          responseBody: bodyShown(text, mask),
        }),
      ),
      Effect.tapError((failure) => log({ failure: failure.kind, applied: failure.applied })),
    )
  }).pipe(Effect.provideService(References.MinimumLogLevel, "Debug"))
