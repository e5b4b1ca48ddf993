import { Effect, Schedule } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as useCases from "../../../application/scheduler/jobs.ts"
import { stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"
import { type CommandGroup, command, done, type Manner, optional, positive, toggle } from "./command.ts"
import { PLACE, placeOf, type SchedulerProviders } from "./jobs.ts"
import { textTable } from "./text_table.ts"
import { type UsageSample, usageChart, usageSample } from "./usage_chart.ts"

/** Samples that fit beside the labels on a usual terminal. */
const WIDTH = 40

const AT = { allocationId: Argument.String("allocation"), ...PLACE }

/** Draws over what was drawn before, on a terminal; else one line a look. */
const draw = ({ json, terminal }: Manner, samples: ReadonlyArray<UsageSample>, first: boolean): void => {
  const { out, interactive } = terminal
  const lines = usageChart(samples)
  if (json) out(`${stringifyLossless(samples.at(-1))}\n`)
  else if (!interactive) out(`${lines.map((line) => line.trimEnd()).join("   ")}\n`)
  else out(`${first ? "" : `\u001b[${lines.length}A`}${lines.map((line) => `\u001b[2K${line}\n`).join("")}`)
}

/** `portolan allocations ...`, over the client that `provide` gives. */
export const allocationCommands = (provide: SchedulerProviders): CommandGroup<"allocations"> => {
  const look = ({ allocationId, ...place }: Command.Command.Config.Infer<typeof AT>) =>
    provide.client(useCases.allocationStats({ allocationId, ...placeOf(place) }))

  const stats = command("stats", {
    summary: "Shows the memory and CPU an allocation uses",
    config: {
      ...AT,
      watch: toggle("watch", "draw memory and CPU over time; with --json one line a look"),
      interval: positive(Flag.Finite("interval"), "seconds between two looks").pipe(Flag.withDefault(1)),
      count: optional(positive(Flag.Int("count"), ""), "looks before it ends; until Ctrl-C when omitted"),
    },
    examples: ["allocations stats 1f6c2d8a", "allocations stats 1f6c2d8a --watch --interval 2"],
    ongoing: true,
    run: Effect.fnUntraced(function* ({ watch, interval, count = Infinity, ...at }, manner) {
      if (!watch) {
        const usage = yield* look(at)
        return done(usage, ...usageChart([usageSample(usage)]))
      }
      let samples: ReadonlyArray<UsageSample> = []
      const lookAndDraw = Effect.map(look(at), (usage) => {
        const first = samples.length === 0
        samples = [...samples, usageSample(usage)].slice(-WIDTH)
        draw(manner, samples, first)
      })
      yield* Effect.repeat(lookAndDraw, { schedule: Schedule.spaced(interval * 1000), times: count - 1 })
      return done(undefined)
    }),
  })

  const list = command("list", {
    summary: "Lists the allocations of a node",
    config: { nodeId: Argument.String("node"), ...PLACE },
    examples: ["allocations list 0c7e5b1a-5b2e-6ad3-9a4f-2f1d3c4b5a69"],
    run: Effect.fnUntraced(function* ({ nodeId, ...place }) {
      const allocations = yield* provide.client(useCases.getAllocations({ nodeId, ...placeOf(place) }))
      const rows = allocations.NomadAllocations.map((each) => [
        each.ID,
        each.JobID,
        each.TaskGroup,
        each.ClientStatus,
        each.DesiredStatus,
      ])
      return done(allocations, textTable(["id", "job", "group", "status", "wanted"], rows))
    }),
  })

  return Command.make("allocations").pipe(
    Command.withDescription("Shows what runs, and what it uses"),
    Command.withSubcommands([stats, list]),
  )
}
