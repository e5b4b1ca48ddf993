import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import {
  type CommandError,
  type CommandGroup,
  command,
  optional,
  optionalText,
  type Report,
  toggle,
} from "./command.ts"
import { CREATIONS, type Creation, KINDS } from "./media_options.ts"
import type { MediaTools } from "./media_work.ts"

type Tools = Effect.Effect<MediaTools, CommandError>
type Work = typeof import("./media_work.ts")

/** Runs one piece of the work, which is loaded only now: it compiles the schemas of all containers. */
const using = (tools: Tools, run: (work: Work, tools: MediaTools) => Effect.Effect<Report, CommandError>) =>
  Effect.flatMap(tools, (ready) =>
    Effect.flatMap(
      Effect.promise(() => import("./media_work.ts")),
      (work) => run(work, ready),
    ),
  )

const account = optionalText("account", "media account id; GRAPH_ACCOUNT_ID when omitted")

const NEEDS = "Needs GRAPH_URL, GRAPH_API_VERSION and GRAPH_ACCESS_TOKEN."

const EXAMPLES: Readonly<Record<Creation, string>> = {
  image: "media image https://cdn.example.com/a.jpg --caption Sunrise --publish-as sunrise-1",
  video: "media video https://cdn.example.com/a.mp4 --carousel-item",
  reel: "media reel https://cdn.example.com/a.mp4 --share-to-feed false --dry-run",
  carousel: "media carousel --item image=https://cdn.example.com/a.jpg --item id=17900000000000001",
}

const creation = <const Kind extends Creation>(kind: Kind, tools: Tools) =>
  command(kind, {
    summary: `Creates a${kind === "image" ? "n" : ""} ${kind} container${kind === "carousel" ? " from its units" : ""}, or publishes it as a post`,
    config: {
      members: CREATIONS[kind],
      from: optionalText(
        "from",
        "JSON file (- is standard input) with the members of the HTTP body; for signed addresses",
      ),
      account,
      dryRun: toggle("dry-run", "print the exact requests, secrets masked; send nothing"),
      key: optionalText(
        "publish-as",
        "create, wait and publish under this key; the same key never makes a second post",
      ),
    },
    details: [NEEDS],
    examples: [EXAMPLES[kind]],
    run: (input, manner) => using(tools, ({ create }, ready) => create(ready, kind, input, manner)),
  })

const status = (tools: Tools) =>
  command("status", {
    summary: "Reads a container's state, or waits until it is ready",
    config: {
      containerId: Argument.String("container"),
      wait: toggle("wait", "look until it is ready, at most five minutes"),
    },
    examples: ["media status 17900000000000001 --wait"],
    run: (input, manner) => using(tools, ({ showStatus }, ready) => showStatus(ready, input, manner)),
  })

const publishing = (tools: Tools) =>
  command("publish", {
    summary: "Publishes a container, at most once, waiting until it is ready",
    config: {
      containerId: Argument.String("container"),
      account,
      kind: optional(Flag.Literals("kind", KINDS), "what it holds; a video alone is refused"),
      force: toggle("force", "publish a video all the same"),
    },
    examples: ["media publish 17900000000000001 --kind image"],
    run: (input, manner) => using(tools, ({ publishContainer }, ready) => publishContainer(ready, input, manner)),
  })

const limit = (tools: Tools) =>
  command("limit", {
    summary: "Reads how much of the account's publish quota is used",
    config: { account },
    examples: ["media limit"],
    run: (input) => using(tools, ({ showLimit }, ready) => showLimit(ready, input)),
  })

const appToken = (tools: Tools) =>
  command("app-token", {
    summary: "Asks for an app access token and prints it; it is a secret, and not accepted for media",
    config: {},
    details: ["Needs GRAPH_URL, GRAPH_API_VERSION, GRAPH_APP_ID and GRAPH_APP_SECRET."],
    examples: ["media app-token"],
    run: () => using(tools, ({ showAppToken }, ready) => showAppToken(ready)),
  })

const probe = (tools: Tools) =>
  command("probe", {
    summary: "Asks the real graph what its documents leave open; publishes nothing",
    config: {
      account,
      imageUrl: optionalText("image-url", "public picture of yours, for the questions that need one"),
      videoUrl: optionalText("video-url", "public film of yours, for the questions that need one"),
    },
    details: [
      "It creates containers nobody sees, which expire after 24 hours and count against the account's daily 400.",
    ],
    examples: ["media probe --image-url https://cdn.example.com/a.jpg"],
    run: (input) => using(tools, ({ probe }, ready) => probe(ready, input)),
  })

/** `portolan media ...`, with the tools that the environment describes. */
export const mediaCommands = (tools: Tools): CommandGroup<"media"> =>
  Command.make("media").pipe(
    Command.withDescription("Creates and publishes media containers"),
    Command.withSubcommands([
      creation("image", tools),
      creation("video", tools),
      creation("reel", tools),
      creation("carousel", tools),
      status(tools),
      publishing(tools),
      limit(tools),
      appToken(tools),
      probe(tools),
    ]),
  )
