import { Effect, Redacted } from "effect"
import type { Container } from "../../../domain/media/container.ts"
import { encodeComponent, encodeQuery, type Parameter } from "../../../domain/media/encoding.ts"
import { RequestTargetTooLong } from "../../../domain/media/errors.ts"
import type { GraphAddress } from "../../../domain/media/graph_address.ts"
import type { GraphOperation } from "../../../domain/media/graph_failure.ts"
import type { CreationCall, RequestPreview } from "../../../domain/media/media_graph_port.ts"
import { maskUrl } from "../../../domain/media/media_url.ts"
import { parametersOf } from "../../../domain/media/parameters.ts"
import { MASK } from "../../../domain/secret_mask.ts"

/** How parameters and token travel. The seed's way is the query; the graph accepts the others as well. */
export interface Placement {
  readonly parameters: "query" | "form"
  readonly token: "query" | "header"
}

/** A request as it leaves; `query` and `body` are encoded. */
export interface WireRequest {
  readonly operation: GraphOperation
  readonly method: "GET" | "POST"
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Names of the parameters, for the log. */
  readonly names: ReadonlyArray<string>
}

const HEADERS = { accept: "application/json" }

const targetOf = ({ path, query }: WireRequest): string => (query === "" ? path : `${path}?${query}`)

/** Bytes of the request target; it is ASCII. */
const targetBytes = (request: WireRequest): number => targetOf(request).length

const pathOf = ({ prefix, apiVersion }: GraphAddress, ...segments: ReadonlyArray<string>): string =>
  [prefix, apiVersion, ...segments.map(encodeComponent)].join("/").replace(/^(?!\/)/, "/")

/** Puts the parameters and, last, the token where they belong. */
const placed = (
  request: Pick<WireRequest, "operation" | "method" | "path">,
  parameters: ReadonlyArray<Parameter>,
  token: Redacted.Redacted | undefined,
  placement: Placement,
): WireRequest => {
  const inHeader = token !== undefined && placement.token === "header"
  const shown: ReadonlyArray<Parameter> =
    token === undefined || inHeader ? parameters : [...parameters, ["access_token", Redacted.value(token)]]
  const text = encodeQuery(shown)
  const asForm = placement.parameters === "form" && request.method === "POST"
  return {
    ...request,
    query: asForm ? "" : text,
    headers: {
      ...HEADERS,
      ...(inHeader ? { authorization: `Bearer ${Redacted.value(token)}` } : {}),
      ...(asForm ? { "content-type": "application/x-www-form-urlencoded" } : {}),
    },
    ...(asForm ? { body: text } : {}),
    names: shown.map(([name]) => name),
  }
}

/**
 * `POST /{version}/{account}/media` with the parameters of seed 2.3.
 *
 * @fails {RequestTargetTooLong} when servers would refuse the request line
 */
export const creation = (
  { accountId, container }: CreationCall,
  address: GraphAddress,
  token: Redacted.Redacted,
  options: { readonly placement: Placement; readonly targetBytesMax: number },
): Effect.Effect<WireRequest, RequestTargetTooLong> => {
  const line = { operation: "create", method: "POST", path: pathOf(address, accountId, "media") } as const
  const request = placed(line, parametersOf(container), token, options.placement)
  const bytes = targetBytes(request)
  return bytes > options.targetBytesMax
    ? Effect.fail(new RequestTargetTooLong({ bytes, bytesMax: options.targetBytesMax }))
    : Effect.succeed(request)
}

/** A creation with masked addresses, to be shown. */
const masked = (call: CreationCall): CreationCall => {
  const container = { ...call.container } as Record<string, unknown>
  for (const name of ["imageUrl", "videoUrl", "coverUrl"])
    if (typeof container[name] === "string") container[name] = maskUrl(container[name])
  return { ...call, container: container as unknown as Container }
}

const shown = (encoded: string): string => encoded.replaceAll(encodeComponent(MASK), MASK)

/** What {@link creation} would send, secrets masked. @fails {RequestTargetTooLong} as it does */
export const preview = Effect.fnUntraced(function* (
  call: CreationCall,
  address: GraphAddress,
  token: Redacted.Redacted,
  options: Parameters<typeof creation>[3],
) {
  const real = yield* creation(call, address, token, options)
  const free = { ...options, targetBytesMax: Number.POSITIVE_INFINITY }
  const request = yield* creation(masked(call), address, Redacted.make(MASK), free)
  const seen: RequestPreview = {
    method: "POST",
    target: shown(targetOf(request)),
    targetBytes: targetBytes(real),
    ...(request.body === undefined ? {} : { body: shown(request.body) }),
  }
  return seen
})

/** Requests with a version and a token; parameters in the order given. */
export const versioned = (
  request: {
    readonly operation: GraphOperation
    readonly method: "GET" | "POST"
    readonly path: ReadonlyArray<string>
  },
  parameters: ReadonlyArray<Parameter>,
  address: GraphAddress,
  token: Redacted.Redacted,
  placement: Placement,
): WireRequest => {
  const { operation, method } = request
  return placed({ operation, method, path: pathOf(address, ...request.path) }, parameters, token, placement)
}

/** Seed 4.6: no version, no access token; id and secret in the query. */
export const appToken = (
  { prefix }: GraphAddress,
  app: { readonly appId: string; readonly appSecret: Redacted.Redacted },
): WireRequest =>
  placed(
    { operation: "app-token", method: "GET", path: `${prefix}/oauth/access_token` },
    [
      ["client_id", app.appId],
      ["client_secret", Redacted.value(app.appSecret)],
      ["grant_type", "client_credentials"],
    ],
    undefined,
    { parameters: "query", token: "query" },
  )

export const STATUS_FIELDS: Parameter = ["fields", "status_code,status"]
export const LIMIT_FIELDS: Parameter = ["fields", "quota_usage,config"]
