import { Effect, Redacted } from "effect"
import { encodeComponent } from "../../../domain/media/encoding.ts"
import type { MediaIssue, RequestTargetTooLong } from "../../../domain/media/errors.ts"
import type { CreationCall } from "../../../domain/media/media_graph_port.ts"
import { maskUrl } from "../../../domain/media/media_url.ts"
import { parametersOf } from "../../../domain/media/parameters.ts"
import { MASK } from "../../../domain/secret_mask.ts"
import type { GraphConnection } from "./graph_exchange.ts"
import { creationLine, graphRequest, targetOf, withinTarget } from "./graph_requests.ts"

/** A creation's exact request with its secrets masked; nothing was sent. */
export interface RequestPreview {
  readonly method: "POST"
  /** Path and query, percent-encoded as sent, masked values as `<redacted>`. */
  readonly target: string
  /** Length of the real target, token included, bytes. */
  readonly targetBytes: number
  /** Form body, masked likewise, when parameters travel as a form. */
  readonly body?: string
}

/** Many servers stop reading a request's first line at 8 KiB; the graph's own limit is not documented. */
const LONG_TARGET_BYTES = 8_000

const LONG_TARGET: MediaIssue = {
  pointer: "/caption",
  rule: "long-target",
  message: `the request target is longer than ${LONG_TARGET_BYTES} bytes, which some servers refuse`,
}

const shown = (encoded: string): string => encoded.replaceAll(encodeComponent(MASK), MASK)

/**
 * Shows the request that a creation would send, and what is doubtful about it.
 *
 * Only the length of the real token matters here; where no token is at hand, the mask stands for it.
 *
 * @fails {RequestTargetTooLong} as the creation would
 */
export const previewCreation = (
  { accountId, container }: CreationCall,
  connection: GraphConnection,
): Effect.Effect<
  { readonly request: RequestPreview; readonly warnings: ReadonlyArray<MediaIssue> },
  RequestTargetTooLong
> =>
  Effect.gen(function* () {
    const masked = Redacted.make(MASK)
    const token = yield* Effect.orElseSucceed(connection.accessToken, () => masked)
    const line = creationLine("create", accountId)
    const parameters = parametersOf(container)
    const real = graphRequest(line, parameters, token, connection)
    const targetBytes = targetOf(yield* withinTarget(real, connection.targetBytesMax)).length
    const visible = parameters.map(([name, value]) => [name, name.endsWith("_url") ? maskUrl(value) : value] as const)
    const preview = graphRequest(line, visible, masked, connection)
    return {
      request: {
        method: "POST",
        target: shown(targetOf(preview)),
        targetBytes,
        ...(preview.body === undefined ? {} : { body: shown(preview.body) }),
      },
      warnings: targetBytes > LONG_TARGET_BYTES ? [LONG_TARGET] : [],
    }
  })
