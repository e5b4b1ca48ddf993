import { Effect } from "effect"
import { Command } from "effect/cli"
import { allocationCommands } from "../adapters/driving/cli/allocations.ts"
import { type CommandGroup, command, port, toggle } from "../adapters/driving/cli/command.ts"
import { jobCommands, type SchedulerProviders } from "../adapters/driving/cli/jobs.ts"
import { mediaCommands } from "../adapters/driving/cli/media.ts"
import { type FindService, recordCommands } from "../adapters/driving/cli/records.ts"
import { stackCommands } from "./stack_commands.ts"

// What a command works with is loaded when it runs: help, and the other commands, cost nothing of it.

const serve = command("serve", {
  summary: "Serves the configured collections behind the realm's tokens",
  config: { port },
  details: [
    "Configured by environment variables; `portolan config` prints them.",
    "Needs AUTH_PUBLIC_KEY or AUTH_JWKS_URL.",
  ],
  examples: ["serve", "serve --port 9000"],
  ongoing: true,
  run: ({ port }) =>
    Effect.flatMap(
      Effect.promise(() => import("./serve_command.ts")),
      ({ serve }) => serve(port),
    ),
})

const trace = command("trace", {
  summary: "Restarts a job in memory and prints the trace of it",
  config: {},
  details: ["Shows what a collector gets once OTEL_EXPORTER_OTLP_ENDPOINT is set."],
  examples: ["demo trace", "demo trace --json"],
  run: () =>
    Effect.flatMap(
      Effect.promise(() => import("./trace_command.ts")),
      ({ traceRestart }) => traceRestart,
    ),
})

const demo = command("demo", {
  summary: "Serves records, scheduler and media with a realm made for this run",
  config: { port },
  details: [
    "Scheduler and media are in memory unless SCHEDULER_URL or GRAPH_URL is set.",
    "Not for production. Refused as soon as an AUTH_ variable is set.",
  ],
  examples: ["demo", "demo --port 9000"],
  ongoing: true,
  run: ({ port }, { terminal }) =>
    Effect.flatMap(
      Effect.promise(() => import("./demo_command.ts")),
      ({ demo }) => demo(terminal, port),
    ),
}).pipe(Command.withSubcommands([trace]))

const token = command("token", {
  summary: "Requests an access token by client credentials and prints it",
  config: {},
  details: ["Needs IDP_URL, IDP_REALM, IDP_CLIENT_ID and IDP_CLIENT_SECRET."],
  examples: ["token"],
  run: () =>
    Effect.flatMap(
      Effect.promise(() => import("./token_command.ts")),
      ({ requestToken }) => requestToken,
    ),
})

const config = command("config", {
  summary: "Prints the effective configuration, secrets masked",
  config: { variables: toggle("variables", "list every variable with its default, whatever is set now") },
  examples: ["config --json", "config --variables"],
  run: ({ variables }) =>
    Effect.flatMap(
      Effect.promise(() => import("./config_command.ts")),
      ({ listVariables, showConfig }) => (variables ? Effect.succeed(listVariables) : showConfig),
    ),
})

const health = command("health", {
  summary: "Asks the service of this configuration whether it is ready; exit code 0 ready, 1 not",
  config: { port },
  details: [
    "Asks at --port, else at ADMIN_PORT, else at PORT. For the health check of a container, which has no other command.",
  ],
  examples: ["health", "health --port 9000"],
  run: ({ port }) =>
    Effect.flatMap(
      Effect.promise(() => import("./health_command.ts")),
      ({ health }) => health(port),
    ),
})

const scheduler = Effect.promise(() => import("./scheduler_commands.ts"))
const provide: SchedulerProviders = {
  client: (program) => Effect.flatMap(scheduler, ({ provide }) => provide.client(program)),
  restarts: (program) => Effect.flatMap(scheduler, ({ provide }) => provide.restarts(program)),
}

const media = Effect.flatMap(
  Effect.promise(() => import("./media_command.ts")),
  ({ tools }) => tools,
)

const findService: FindService = (words) =>
  Effect.flatMap(
    Effect.promise(() => import("./records_command.ts")),
    ({ findService }) => findService(words),
  )

/** The whole command line (specification 15). */
export const portolan: CommandGroup<"portolan"> = Command.make("portolan").pipe(
  Command.withDescription("Records, scheduler, media and gateway behind one set of ports"),
  Command.withSubcommands([
    serve,
    demo,
    token,
    config,
    health,
    recordCommands(findService),
    jobCommands(provide),
    allocationCommands(provide),
    mediaCommands(media),
    stackCommands,
  ]),
)
