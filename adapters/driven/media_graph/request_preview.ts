import { Effect, Redacted } from "effect"
import { encodeComponent, type Parameter } from "../../../domain/media/encoding.ts"
import type { MediaIssue, RequestTargetTooLong } from "../../../domain/media/errors.ts"
import type { CreationCall } from "../../../domain/media/media_graph_port.ts"
import { maskUrl } from "../../../domain/media/media_url.ts"
import { parametersOf } from "../../../domain/media/parameters.ts"
import { MASK } from "../../../domain/secret_mask.ts"
import type { GraphConnection } from "./graph_exchange.ts"
import {
  creationLine,
  graphRequest,
  publishLine,
  publishParameters,
  type RequestLine,
  targetOf,
  withinTarget,
} from "./graph_requests.ts"

/** An exact request with its secrets masked; nothing was sent. */
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

/** A request as it would be sent, and as it may be shown. */
const preview = (
  line: RequestLine,
  parameters: ReadonlyArray<Parameter>,
  connection: GraphConnection,
): Effect.Effect<RequestPreview, RequestTargetTooLong> =>
  Effect.gen(function* () {
    const masked = Redacted.make(MASK)
    // Only the length of the real token matters here; where no token is at hand, the mask stands for it.
    const token = yield* Effect.orElseSucceed(connection.accessToken, () => masked)
    const real = graphRequest(line, parameters, token, connection)
    const targetBytes = targetOf(yield* withinTarget(real, connection.targetBytesMax)).length
    const visible = parameters.map(([name, value]) => [name, name.endsWith("_url") ? maskUrl(value) : value] as const)
    const { body, ...rest } = graphRequest(line, visible, masked, connection)
    const request = { method: "POST", target: shown(targetOf(rest)), targetBytes } as const
    return body === undefined ? request : { ...request, body: shown(body) }
  })

/**
 * Shows the request that a creation would send, and what is doubtful about it.
 *
 * @fails {RequestTargetTooLong} as the creation would
 */
export const previewCreation = ({ accountId, container }: CreationCall, connection: GraphConnection) =>
  Effect.map(preview(creationLine("create", accountId), parametersOf(container), connection), (request) => ({
    request,
    warnings: request.targetBytes > LONG_TARGET_BYTES ? [LONG_TARGET] : [],
  }))

/**
 * Shows the request that would publish a container.
 *
 * @fails {RequestTargetTooLong} as the call would
 */
export const previewPublish = (
  { accountId, containerId }: { readonly accountId: string; readonly containerId: string },
  connection: GraphConnection,
): Effect.Effect<RequestPreview, RequestTargetTooLong> =>
  preview(publishLine(accountId), publishParameters(containerId), connection)
