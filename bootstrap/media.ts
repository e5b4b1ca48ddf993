// The library face of the media area: promises for plain TypeScript users, the same use cases as the HTTP face.
import { Effect, Layer, Redacted, References } from "effect"
import { type CarouselResult, createCarouselFromItems } from "../application/media/carousel.ts"
import {
  type CreatedContainer,
  containerStatus,
  createContainer,
  publishingLimit,
  requestAppToken,
} from "../application/media/containers.ts"
import { type PublishResult, publish } from "../application/media/publish.ts"
import { type PostResult, publishPost } from "../application/media/publish_post.ts"
import { type Look, type WaitResult, waitUntilReady } from "../application/media/wait_until_ready.ts"
import type {
  CarouselContainer,
  CarouselPost,
  Container,
  ImageContainer,
  MediaKind,
  Post,
  ReelContainer,
  VideoContainer,
} from "../domain/media/container.ts"
import { checkSecret } from "../domain/media/graph_address.ts"
import type { ContainerStatus, PublishingLimit } from "../domain/media/media_graph_port.ts"
import { DEFAULT_MEDIA_RULES, type MediaLimits, type MediaRules } from "../domain/media/policy.ts"
import type { Waiting } from "../domain/media/polling.ts"
import { loggerLayer, type StructuredLogger } from "./library_logger.ts"
import { libraryRuntime } from "./library_runtime.ts"
import { dryRun, type MediaPlan } from "./media_dry_run.ts"
import { type CheckedGraph, checkGraphSetup, graphLayer } from "./media_layers.ts"
import { storeOf } from "./store.ts"

export {
  CarouselIncomplete,
  InvalidMedia,
  InvalidMediaSetup,
  type MediaError,
  type MediaIssue,
  OutcomeUnknown,
  PublishBusy,
  QuotaExhausted,
  RequestTargetTooLong,
} from "../domain/media/errors.ts"
export { type FailureKind, GraphFailure } from "../domain/media/graph_failure.ts"
export type {
  CarouselContainer,
  CarouselPost,
  CarouselResult,
  Container,
  ContainerStatus,
  CreatedContainer,
  ImageContainer,
  Look,
  MediaKind,
  MediaLimits,
  MediaPlan,
  MediaRules,
  Post,
  PostResult,
  PublishingLimit,
  PublishResult,
  ReelContainer,
  VideoContainer,
  Waiting,
  WaitResult,
}

/** Limits and habits to change; the defaults hold for what is left out. */
export type MediaRulesOverride = Partial<Omit<MediaRules, "limits">> & { readonly limits?: Partial<MediaLimits> }

/** How to make a media client. */
export interface MediaOptions {
  /** Base address of the graph, such as `https://graph.facebook.com`; https, except on the own machine. */
  readonly graphUrl: string
  /** First path segment of every media call, such as `v25.0`. */
  readonly apiVersion: string
  /** A user, page or account token; a function is asked for every call, so that a renewed one is used at once. */
  readonly accessToken?: string | (() => string | Promise<string>)
  /** Media account for calls that name none. */
  readonly accountId?: string
  /** App id and secret for {@link Media.requestAppToken}. */
  readonly appId?: string
  readonly appSecret?: string
  readonly logger?: StructuredLogger
  /** `debug` logs every exchange: names of parameters, never their values. */
  readonly logLevel?: "debug"
  readonly rules?: MediaRulesOverride
  /** A SQLite file for the publish journal; without one it lives in this process, and dies with it. */
  readonly journalPath?: string
  /** Deadline of one exchange, body included, ms; 30 000 when omitted. */
  readonly timeoutMs?: number
  /** `form` sends parameters in the body, for texts too long for a request line; `query` is the default. */
  readonly parameters?: "query" | "form"
  /** `header` sends `Authorization: Bearer`; `query` is the default. */
  readonly token?: "query" | "header"
  /** Accept plain http for a host that is not this machine: the token travels in clear text. */
  readonly allowInsecureGraphUrl?: boolean
}

type WithAccount<A> = A & { readonly accountId?: string }

/** How to wait for media that is being processed. */
export interface WaitingOptions {
  readonly waiting?: Partial<Waiting>
  /** Told of every look at a container, for a progress line. */
  readonly onLook?: (look: Look) => void
}

/** The media area for plain TypeScript. Every method rejects with a class that has a stable `code`. */
export interface Media extends AsyncDisposable {
  readonly createImage: (image: WithAccount<Omit<ImageContainer, "kind">>) => Promise<CreatedContainer>
  /** `media_type=VIDEO`: for carousel items. A video post is a reel with `shareToFeed`. */
  readonly createVideo: (video: WithAccount<Omit<VideoContainer, "kind">>) => Promise<CreatedContainer>
  readonly createReel: (reel: WithAccount<Omit<ReelContainer, "kind">>) => Promise<CreatedContainer>
  readonly createCarousel: (carousel: WithAccount<Omit<CarouselContainer, "kind">>) => Promise<CreatedContainer>
  readonly createCarouselFromItems: (
    post: WithAccount<CarouselPost>,
    options?: WaitingOptions,
  ) => Promise<CarouselResult>
  readonly containerStatus: (containerId: string) => Promise<ContainerStatus>
  readonly waitUntilReady: (containerId: string, options?: WaitingOptions) => Promise<WaitResult>
  /** Publishes a finished container, at most once. */
  readonly publish: (
    container: WithAccount<{ readonly containerId: string; readonly kind?: MediaKind }>,
    options?: WaitingOptions & { readonly force?: boolean },
  ) => Promise<PublishResult>
  /** Creates, waits and publishes; the same key never makes a second post. */
  readonly publishPost: (
    key: string,
    post: WithAccount<Post>,
    options?: WaitingOptions & { readonly force?: boolean },
  ) => Promise<PostResult>
  readonly publishingLimit: (account?: WithAccount<object>) => Promise<PublishingLimit>
  /** The exact requests a creation would send, and with `publish` those of a post, secrets masked; nothing is sent. */
  readonly plan: (input: WithAccount<Container | Post>, options?: { readonly publish?: boolean }) => Promise<MediaPlan>
  /** An app access token (specification 4.6). It is a secret, and not accepted for media. */
  readonly requestAppToken: (app?: { readonly appId: string; readonly appSecret: string }) => Promise<string>
  /** Ends what is still running and closes the journal. */
  readonly close: () => Promise<void>
}

const TIMEOUT_MS = 30_000

/** The default rules with overrides on top. */
const mediaRules = ({ limits, ...rules }: MediaRulesOverride = {}): MediaRules => ({
  ...DEFAULT_MEDIA_RULES,
  ...rules,
  limits: { ...DEFAULT_MEDIA_RULES.limits, ...limits },
})

const tokenSource = (token: MediaOptions["accessToken"]): Effect.Effect<Redacted.Redacted, unknown> => {
  if (typeof token === "string") return Effect.succeed(Redacted.make(token))
  if (token === undefined) return Effect.fail("no token")
  return Effect.tryPromise(async () => Redacted.make(await token())).pipe(
    Effect.filterOrFail(
      (redacted) => Redacted.value(redacted).trim() !== "",
      () => "blank",
    ),
  )
}

const checkedGraph = (options: MediaOptions) => {
  const setup = {
    graphUrl: options.graphUrl,
    apiVersion: options.apiVersion,
    accessToken: tokenSource(options.accessToken),
    accountId: options.accountId,
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    rules: mediaRules(options.rules),
    parameters: options.parameters ?? "query",
    token: options.token ?? "query",
    allowInsecure: options.allowInsecureGraphUrl ?? false,
  } as const
  const checked = Effect.runSync(checkGraphSetup(setup))
  if (typeof options.accessToken === "string") Effect.runSync(checkSecret("accessToken", options.accessToken))
  return checked
}

const layerOf = (options: MediaOptions, graph: CheckedGraph) => {
  const journal = storeOf(options.journalPath === undefined ? "memory" : { sqlite: options.journalPath })
  const level = options.logLevel === "debug" ? Layer.succeed(References.MinimumLogLevel, "Debug") : Layer.empty
  return Layer.provideMerge(
    Layer.merge(graphLayer(graph), journal),
    Layer.provideMerge(level, loggerLayer(options.logger)),
  )
}

/**
 * Makes a media client.
 *
 * @throws {InvalidMediaSetup} naming the option and the rule it breaks, never its value
 */
export const createMedia = (options: MediaOptions): Media => {
  // Checked here, so that a mistake is thrown at whoever makes the client and not at its first call.
  const graph = checkedGraph(options)
  const { run, close } = libraryRuntime(layerOf(options, graph))
  // The domain refuses an empty account id, with a pointer to the missing field.
  const on = <Input extends WithAccount<object>, B>(
    input: Input,
    use: (accountId: string, rest: Omit<Input, "accountId">) => B,
  ): B => {
    const { accountId = options.accountId ?? "", ...rest } = input
    return use(accountId, rest)
  }
  const waitingOf = ({ onLook, ...rest }: WaitingOptions & { readonly force?: boolean } = {}) => ({
    ...rest,
    ...(onLook === undefined ? {} : { onLook: (look: Look) => Effect.sync(() => onLook(look)) }),
  })
  const create = <Input extends WithAccount<object>>(kind: MediaKind, input: Input) =>
    run(on(input, (accountId, rest) => createContainer(accountId, { ...rest, kind })))
  return {
    createImage: (image) => create("image", image),
    createVideo: (video) => create("video", video),
    createReel: (reel) => create("reel", reel),
    createCarousel: (carousel) => create("carousel", carousel),
    createCarouselFromItems: (post, waiting) =>
      run(on(post, (accountId, rest) => createCarouselFromItems(accountId, rest, waitingOf(waiting)))),
    containerStatus: (containerId) => run(containerStatus(containerId)),
    waitUntilReady: (containerId, waiting) => run(waitUntilReady(containerId, waitingOf(waiting))),
    publish: (container, waiting) =>
      run(on(container, (accountId, rest) => publish({ accountId, ...rest }, waitingOf(waiting)))),
    publishPost: (key, post, waiting) =>
      run(on(post, (accountId, rest) => publishPost({ key, accountId, post: rest }, waitingOf(waiting)))),
    publishingLimit: (account = {}) => run(on(account, publishingLimit)),
    plan: (input, { publish = false } = {}) =>
      run(on(input, (accountId, rest) => dryRun(graph, accountId, rest, publish))),
    requestAppToken: (app) =>
      run(
        Effect.map(
          requestAppToken({
            appId: app?.appId ?? options.appId ?? "",
            appSecret: Redacted.make(app?.appSecret ?? options.appSecret ?? ""),
          }),
          Redacted.value,
        ),
      ),
    close,
    [Symbol.asyncDispose]: close,
  }
}
