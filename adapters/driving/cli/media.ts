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
import { type Arguments, type Command, type CommandError, type Report, type Terminal, WrongUsage } from "./command.ts"
import { CREATIONS, type Creation, optionHelp, parserOptions, readCreation } from "./media_options.ts"
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
  /** Shows the requests of a creation, secrets masked, and sends nothing. */
  readonly dryRun: (accountId: string, input: unknown) => Effect.Effect<DryRun, CommandError>
  /** The store's journal; opened only by what publishes. */
  readonly journal: Layer.Layer<PublishJournal, CommandError>
  readonly accountId: string | undefined
  readonly appId: string | undefined
  readonly appSecret: Redacted.Redacted | undefined
}

type Tools = Effect.Effect<MediaTools, CommandError>

const wordOf = (args: Arguments, name: string): string | undefined => {
  const value = args.options[name]
  return typeof value === "string" ? value : undefined
}

const accountOf = (args: Arguments, tools: MediaTools): Effect.Effect<string, WrongUsage> => {
  const accountId = wordOf(args, "account") ?? tools.accountId
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

const lines = (...texts: ReadonlyArray<string>): string => texts.join("\n")

const done = (json: unknown, ...texts: ReadonlyArray<string>): Report => ({ json, text: lines(...texts) })

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

const creation = (kind: Creation, tools: Tools): Command => {
  const { source } = CREATIONS[kind]
  return {
    path: ["media", kind],
    summary: `Creates a${kind === "image" ? "n" : ""} ${kind} container${source === undefined ? " from its units" : ""}, or publishes it as a post`,
    positionals: source === undefined ? [] : ["url?"],
    options: {
      ...parserOptions(kind),
      from: { type: "string" },
      account: { type: "string" },
      "dry-run": { type: "boolean" },
      "publish-as": { type: "string" },
    },
    details: [
      ...optionHelp(kind),
      "--from: a JSON file (- is standard input) with the same members as the HTTP body; for signed addresses",
      "--account: media account id; GRAPH_ACCOUNT_ID when omitted",
      "--dry-run: print the exact requests, secrets masked; send nothing",
      "--publish-as: create, wait and publish under this key; the same key never makes a second post",
      "Needs GRAPH_URL, GRAPH_API_VERSION and GRAPH_ACCESS_TOKEN.",
    ],
    run: (args) =>
      Effect.gen(function* () {
        const input = yield* readCreation(kind, args)
        const ready = yield* tools
        const accountId = yield* accountOf(args, ready)
        if (args.options["dry-run"] === true) return dryRunReport(yield* ready.dryRun(accountId, input))
        const key = wordOf(args, "publish-as")
        const program =
          key === undefined
            ? created(kind, accountId, input, args.terminal)
            : Effect.provide(asPost(key, accountId, input, args.terminal), ready.journal)
        return yield* program.pipe(
          Effect.catchIf(
            (error) => error instanceof CarouselIncomplete,
            (error) => Effect.succeed(incompleteReport(error)),
          ),
          Effect.provide(ready.graph),
        )
      }),
  }
}

const status = (tools: Tools): Command => ({
  path: ["media", "status"],
  summary: "Reads a container's state, or waits until it is ready",
  positionals: ["container"],
  options: { wait: { type: "boolean" } },
  details: ["--wait: look until it is ready, at most five minutes"],
  run: ({ positionals: [containerId = ""], options, terminal }) =>
    Effect.gen(function* () {
      const { graph } = yield* tools
      if (options["wait"] !== true) {
        const seen = yield* Effect.provide(containerStatus(containerId), graph)
        return done(seen, seen.detail === undefined ? seen.state : `${seen.state}: ${seen.detail}`)
      }
      const waited = yield* Effect.provide(waitUntilReady(containerId, watching(terminal)), graph)
      return (waited.state === "still-processing" ? unfinished : done)(waited, waited.state)
    }),
})

const publishing = (tools: Tools): Command => ({
  path: ["media", "publish"],
  summary: "Publishes a container, at most once, waiting until it is ready",
  positionals: ["container"],
  options: { account: { type: "string" }, kind: { type: "string" }, force: { type: "boolean" } },
  details: [
    "--account: media account id; GRAPH_ACCOUNT_ID when omitted",
    "--kind: what it holds (image, video, reel, carousel); a video alone is refused",
    "--force: publish a video all the same",
  ],
  run: (args) =>
    Effect.gen(function* () {
      const ready = yield* tools
      const accountId = yield* accountOf(args, ready)
      const kind = wordOf(args, "kind")
      if (kind !== undefined && !Object.hasOwn(CREATIONS, kind))
        return yield* new WrongUsage({ rule: `--kind must be one of ${Object.keys(CREATIONS).join(", ")}` })
      const call = {
        accountId,
        containerId: args.positionals[0] ?? "",
        ...(kind === undefined ? {} : { kind: kind as MediaKind }),
      }
      const options = { ...watching(args.terminal), force: args.options["force"] === true }
      const result = yield* publish(call, options).pipe(Effect.provide(Layer.merge(ready.graph, ready.journal)))
      return result.state === "published"
        ? done(result, `Published: ${result.mediaId ?? "media id unknown"}`)
        : unfinished(result, "Still being processed: run the same command again.")
    }),
})

const limit = (tools: Tools): Command => ({
  path: ["media", "limit"],
  summary: "Reads how much of the account's publish quota is used",
  positionals: [],
  options: { account: { type: "string" } },
  details: ["--account: media account id; GRAPH_ACCOUNT_ID when omitted"],
  run: (args) =>
    Effect.gen(function* () {
      const ready = yield* tools
      const found = yield* Effect.provide(publishingLimit(yield* accountOf(args, ready)), ready.graph)
      const hours = found.periodS === undefined ? "" : ` in ${found.periodS / 3600} h`
      return done(found, `${found.used} of ${found.total ?? "an unknown number"}${hours}`)
    }),
})

const appToken = (tools: Tools): Command => ({
  path: ["media", "app-token"],
  summary: "Asks for an app access token and prints it; it is a secret, and not accepted for media",
  positionals: [],
  options: {},
  details: ["Needs GRAPH_URL, GRAPH_API_VERSION, GRAPH_APP_ID and GRAPH_APP_SECRET."],
  run: () =>
    Effect.gen(function* () {
      const { graph, appId, appSecret } = yield* tools
      if (appId === undefined || appSecret === undefined)
        return yield* new WrongUsage({ rule: "GRAPH_APP_ID and GRAPH_APP_SECRET are required by 'media app-token'" })
      const token = Redacted.value(yield* Effect.provide(requestAppToken({ appId, appSecret }), graph))
      return done({ accessToken: token }, token)
    }),
})

const probe = (tools: Tools): Command => ({
  path: ["media", "probe"],
  summary: "Asks the real graph what its documents leave open; publishes nothing",
  positionals: [],
  options: { account: { type: "string" }, "image-url": { type: "string" }, "video-url": { type: "string" } },
  details: [
    "--image-url, --video-url: public files of yours; without them the questions that need one are left out",
    "It creates containers nobody sees, which expire after 24 hours and count against the account's daily 400.",
  ],
  run: (args) =>
    Effect.gen(function* () {
      const ready = yield* tools
      const accountId = yield* accountOf(args, ready)
      const files = { imageUrl: wordOf(args, "image-url"), videoUrl: wordOf(args, "video-url") }
      const answers = yield* Effect.provide(probeGraph(accountId, files), Layer.merge(ready.graph, ready.probe))
      const rows = answers.map(({ question, outcome, answer }) => [question, outcome, answer])
      return done(answers, textTable(["question", "outcome", "answer"], rows))
    }),
})

/** Every `portolan media` command. */
export const mediaCommands = (tools: Tools): ReadonlyArray<Command> => [
  ...(Object.keys(CREATIONS) as ReadonlyArray<Creation>).map((kind) => creation(kind, tools)),
  status(tools),
  publishing(tools),
  limit(tools),
  appToken(tools),
  probe(tools),
]
