import { Effect, Layer, Redacted } from "effect"
import { createCarouselFromItems } from "../../../application/media/carousel.ts"
import {
  containerStatus,
  createContainer,
  publishingLimit,
  requestAppToken,
} from "../../../application/media/containers.ts"
import type { GraphPacing } from "../../../application/media/graph_pacing.ts"
import { probeGraph } from "../../../application/media/probe.ts"
import { publish } from "../../../application/media/publish.ts"
import { publishPost } from "../../../application/media/publish_post.ts"
import { type Look, waitUntilReady } from "../../../application/media/wait_until_ready.ts"
import type { MediaKind } from "../../../domain/media/container.ts"
import { CarouselIncomplete, type MediaIssue } from "../../../domain/media/errors.ts"
import type { GraphProbe } from "../../../domain/media/graph_probe.ts"
import type { MediaGraphPort } from "../../../domain/media/media_graph_port.ts"
import type { PublishJournal } from "../../../domain/media/publish_journal.ts"
import { type CommandError, done, type Manner, type Report, type Terminal, WrongUsage } from "./command.ts"
import { type Creation, readCreation } from "./media_options.ts"
import { textTable } from "./text_table.ts"

type GraphServices = MediaGraphPort | GraphPacing

/** The requests of a creation that is only shown. */
export interface DryRun {
  readonly requests: ReadonlyArray<{ readonly method: string; readonly target: string; readonly body?: string }>
  readonly warnings: ReadonlyArray<MediaIssue>
  /** Containers the creation would take from the account's budget of a day. */
  readonly containers: number
}

/** What the commands are run with; read from the environment only when a command runs. */
export interface MediaTools {
  /** What every command needs that sends something. */
  readonly graph: Layer.Layer<GraphServices, CommandError>
  /** What `probe` needs beside it. */
  readonly probe: Layer.Layer<GraphProbe, CommandError>
  /** Shows the requests of a creation, or of a post, secrets masked, and sends nothing. */
  readonly dryRun: (accountId: string, input: unknown, publishes: boolean) => Effect.Effect<DryRun, CommandError>
  /** The store's journal; opened only by what publishes. */
  readonly journal: Layer.Layer<PublishJournal, CommandError>
  readonly accountId: string | undefined
  readonly appId: string | undefined
  readonly appSecret: Redacted.Redacted | undefined
}

const accountOf = (given: string | undefined, tools: MediaTools): Effect.Effect<string, WrongUsage> => {
  const accountId = given ?? tools.accountId
  return accountId === undefined
    ? Effect.fail(new WrongUsage({ rule: "--account is required: GRAPH_ACCOUNT_ID is not set" }))
    : Effect.succeed(accountId)
}

/** A progress line per look, where a person watches. */
const watching = ({ interactive, err }: Terminal) => ({
  onLook: ({ containerId, state, elapsedMs }: Look) =>
    Effect.sync(() => {
      if (interactive) err(`\r\u001b[2K${containerId} ${state} after ${Math.round(elapsedMs / 1000)} s\n`)
    }),
})

const warningLines = (warnings: ReadonlyArray<MediaIssue>): ReadonlyArray<string> =>
  warnings.map(({ pointer, message }) => `Warning: ${pointer} ${message}`)

/** The report of work that is not done yet: exit code 1, so that a script knows to run the command again. */
const unfinished = (json: unknown, ...texts: ReadonlyArray<string>): Report => ({
  ...done(json, ...texts),
  exitCode: 1,
})

const incompleteReport = (error: CarouselIncomplete): Report => {
  const rows = [
    ...error.created.map(({ index, containerId }) => [index, `created: id=${containerId}`] as const),
    ...error.failed.map(({ index, error: each }) => [index, each.message] as const),
    ...error.skipped.map((index) => [index, "not started"] as const),
  ].sort(([left], [right]) => left - right)
  const failed = error.failed.map(({ index, error: { code, message } }) => ({ index, code, message }))
  return unfinished(
    { code: error.code, created: error.created, failed, skipped: error.skipped },
    textTable(["item", "result"], rows),
    "No carousel was made. Run it again with --item id=<container> for the created ones.",
  )
}

const asPost = Effect.fnUntraced(function* (key: string, accountId: string, post: object, terminal: Terminal) {
  const result = yield* publishPost({ key, accountId, post }, watching(terminal))
  return result.state === "published"
    ? done(result, `Published: ${result.mediaId ?? "media id unknown"}`, ...warningLines(result.warnings))
    : unfinished(result, "Still being processed: run the same command again, with the same key.")
})

const dryRunReport = (plan: DryRun): Report => {
  const requests = plan.requests.flatMap(({ method, target, body }) => [
    `${method} ${target}`,
    ...(body === undefined ? [] : [body]),
  ])
  return done(plan, ...requests, ...warningLines(plan.warnings), `Containers: ${plan.containers}. Nothing was sent.`)
}

const created = Effect.fnUntraced(function* (kind: Creation, accountId: string, input: object, terminal: Terminal) {
  if (kind !== "carousel") {
    const container = yield* createContainer(accountId, input)
    return done(container, container.containerId, ...warningLines(container.warnings))
  }
  const { kind: _carousel, ...post } = input as { readonly kind?: unknown }
  const result = yield* createCarouselFromItems(accountId, post, watching(terminal))
  const items = result.items.map(({ containerId }) => `  --item id=${containerId}`)
  return result.state === "created"
    ? done(result, result.containerId, ...warningLines(result.warnings))
    : unfinished(result, "Units are still being processed. Run again with:", ...items)
})

/** What every creation takes beside the members of its container. */
export interface CreationInput {
  readonly members: object
  readonly from: string | undefined
  readonly account: string | undefined
  readonly dryRun: boolean
  readonly key: string | undefined
}

/** `portolan media image|video|reel|carousel`. */
export const create = Effect.fnUntraced(function* (
  tools: MediaTools,
  kind: Creation,
  { members, from, account, dryRun, key }: CreationInput,
  { terminal }: Manner,
) {
  const input = yield* readCreation(kind, from, members)
  const accountId = yield* accountOf(account, tools)
  if (dryRun) return dryRunReport(yield* tools.dryRun(accountId, input, key !== undefined))
  const program =
    key === undefined
      ? created(kind, accountId, input, terminal)
      : Effect.provide(asPost(key, accountId, input, terminal), tools.journal)
  return yield* program.pipe(
    Effect.catchIf(
      (error) => error instanceof CarouselIncomplete,
      (error) => Effect.succeed(incompleteReport(error)),
    ),
    Effect.provide(tools.graph),
  )
})

/** `portolan media status`. */
export const showStatus = Effect.fnUntraced(function* (
  { graph }: MediaTools,
  { containerId, wait }: { readonly containerId: string; readonly wait: boolean },
  { terminal }: Manner,
) {
  if (!wait) {
    const seen = yield* Effect.provide(containerStatus(containerId), graph)
    return done(seen, seen.detail === undefined ? seen.state : `${seen.state}: ${seen.detail}`)
  }
  const waited = yield* Effect.provide(waitUntilReady(containerId, watching(terminal)), graph)
  return (waited.state === "still-processing" ? unfinished : done)(waited, waited.state)
})

/** `portolan media publish`. */
export const publishContainer = Effect.fnUntraced(function* (
  tools: MediaTools,
  input: {
    readonly containerId: string
    readonly account: string | undefined
    readonly kind: MediaKind | undefined
    readonly force: boolean
  },
  { terminal }: Manner,
) {
  const { containerId, account, kind, force } = input
  const accountId = yield* accountOf(account, tools)
  const call = { accountId, containerId, ...(kind === undefined ? {} : { kind }) }
  const result = yield* publish(call, { ...watching(terminal), force }).pipe(
    Effect.provide(Layer.merge(tools.graph, tools.journal)),
  )
  return result.state === "published"
    ? done(result, `Published: ${result.mediaId ?? "media id unknown"}`)
    : unfinished(result, "Still being processed: run the same command again.")
})

/** `portolan media limit`. */
export const showLimit = Effect.fnUntraced(function* (
  tools: MediaTools,
  { account }: { readonly account: string | undefined },
) {
  const found = yield* Effect.provide(publishingLimit(yield* accountOf(account, tools)), tools.graph)
  const hours = found.periodS === undefined ? "" : ` in ${found.periodS / 3600} h`
  return done(found, `${found.used} of ${found.total ?? "an unknown number"}${hours}`)
})

/** `portolan media app-token`. */
export const showAppToken = Effect.fnUntraced(function* ({ graph, appId, appSecret }: MediaTools) {
  if (appId === undefined || appSecret === undefined)
    return yield* new WrongUsage({ rule: "GRAPH_APP_ID and GRAPH_APP_SECRET are required by 'media app-token'" })
  const token = Redacted.value(yield* Effect.provide(requestAppToken({ appId, appSecret }), graph))
  return done({ accessToken: token }, token)
})

/** `portolan media probe`. */
export const probe = Effect.fnUntraced(function* (
  tools: MediaTools,
  {
    account,
    ...files
  }: {
    readonly account: string | undefined
    readonly imageUrl: string | undefined
    readonly videoUrl: string | undefined
  },
) {
  const accountId = yield* accountOf(account, tools)
  const answers = yield* Effect.provide(probeGraph(accountId, files), Layer.merge(tools.graph, tools.probe))
  const rows = answers.map(({ question, outcome, answer }) => [question, outcome, answer])
  return done(answers, textTable(["question", "outcome", "answer"], rows))
})
