import { Effect, Redacted } from "effect"
import { encodeComponent, encodeQuery, type Parameter } from "../../../domain/media/encoding.ts"
import { RequestTargetTooLong } from "../../../domain/media/errors.ts"
import type { GraphAddress } from "../../../domain/media/graph_address.ts"
import type { GraphOperation } from "../../../domain/media/graph_failure.ts"

/** How parameters and token travel. The specification's way is the query (2.3); the graph accepts the others as well. */
export interface Placement {
  readonly parameters: "query" | "form"
  readonly token: "query" | "header"
}

/** Where requests go, and how they carry what they say. */
export interface Route {
  readonly address: GraphAddress
  readonly placement: Placement
}

/** What a request asks. */
export interface RequestLine {
  readonly operation: GraphOperation
  readonly method: "GET" | "POST"
  /** Path segments behind the API version. */
  readonly path: ReadonlyArray<string>
}

/** A request as it leaves; `query` and `body` are encoded. */
export interface GraphRequest {
  readonly operation: GraphOperation
  readonly method: "GET" | "POST"
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Names of the parameters, for the log. */
  readonly names: ReadonlyArray<string>
}

/** Path and query of a request, as in its first line; ASCII. */
export const targetOf = ({ path, query }: GraphRequest): string => (query === "" ? path : `${path}?${query}`)

/**
 * The request, if its target is short enough.
 *
 * @param bytesMax longest target that is sent, bytes
 * @fails {RequestTargetTooLong} when servers would refuse the request's first line
 */
export const withinTarget = (
  request: GraphRequest,
  bytesMax: number,
): Effect.Effect<GraphRequest, RequestTargetTooLong> => {
  const bytes = targetOf(request).length
  return bytes > bytesMax ? Effect.fail(new RequestTargetTooLong({ bytes, bytesMax })) : Effect.succeed(request)
}

const HEADERS = { accept: "application/json" }

/** A request of a media call: version and path, the parameters in the order given, and last the token. */
export const graphRequest = (
  { operation, method, path }: RequestLine,
  parameters: ReadonlyArray<Parameter>,
  token: Redacted.Redacted,
  { address, placement }: Route,
): GraphRequest => {
  const inHeader = placement.token === "header"
  const sent: ReadonlyArray<Parameter> = inHeader
    ? parameters
    : [...parameters, ["access_token", Redacted.value(token)]]
  const text = encodeQuery(sent)
  const asForm = placement.parameters === "form" && method === "POST"
  return {
    operation,
    method,
    path: [address.prefix, address.apiVersion, ...path.map(encodeComponent)].join("/"),
    query: asForm ? "" : text,
    headers: {
      ...HEADERS,
      ...(inHeader ? { authorization: `Bearer ${Redacted.value(token)}` } : {}),
      ...(asForm ? { "content-type": "application/x-www-form-urlencoded" } : {}),
    },
    ...(asForm ? { body: text } : {}),
    names: sent.map(([name]) => name),
  }
}

/** `POST /{version}/{account}/media`: creates a container (specification 4.5). */
export const creationLine = (operation: GraphOperation, accountId: string): RequestLine => ({
  operation,
  method: "POST",
  path: [accountId, "media"],
})

/** `POST /{version}/{account}/media_publish`: publishes a container. */
export const publishLine = (accountId: string): RequestLine => ({
  operation: "publish",
  method: "POST",
  path: [accountId, "media_publish"],
})

/** The parameters of {@link publishLine}. */
export const publishParameters = (containerId: string): ReadonlyArray<Parameter> => [["creation_id", containerId]]

/** `GET /oauth/access_token`: no version and no access token; id and secret are in the query (specification 4.6). */
export const appTokenRequest = (
  { prefix }: GraphAddress,
  app: { readonly appId: string; readonly appSecret: Redacted.Redacted },
): GraphRequest => {
  const parameters: ReadonlyArray<Parameter> = [
    ["client_id", app.appId],
    ["client_secret", Redacted.value(app.appSecret)],
    ["grant_type", "client_credentials"],
  ]
  return {
    operation: "app-token",
    method: "GET",
    path: `${prefix}/oauth/access_token`,
    query: encodeQuery(parameters),
    headers: HEADERS,
    names: parameters.map(([name]) => name),
  }
}
