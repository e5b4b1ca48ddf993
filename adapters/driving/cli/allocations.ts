import { Effect } from "effect"
import * as useCases from "../../../application/scheduler/jobs.ts"
import { stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"
import { type Arguments, type Command, WrongUsage } from "./command.ts"
import { PLACE_OPTIONS, placeOf, type SchedulerProviders } from "./jobs.ts"
import { textTable } from "./text_table.ts"
import { type UsageSample, usageChart, usageSample } from "./usage_chart.ts"

/** Samples that fit beside the labels on a usual terminal. */
const WIDTH = 40

const readSeconds = (args: Arguments): Effect.Effect<number, WrongUsage> => {
  const text = String(args.options["interval"] ?? "1")
  return /^\d{1,4}(\.\d{1,3})?$/.test(text) && Number(text) > 0
    ? Effect.succeed(Number(text))
    : Effect.fail(new WrongUsage({ rule: "--interval must be seconds above 0" }))
}

const readLooks = (args: Arguments): Effect.Effect<number, WrongUsage> => {
  const text = args.options["count"]
  if (text === undefined) return Effect.succeed(Number.POSITIVE_INFINITY)
  return /^[1-9]\d{0,8}$/.test(String(text))
    ? Effect.succeed(Number(text))
    : Effect.fail(new WrongUsage({ rule: "--count must be a whole number above 0" }))
}

/** Draws over what was drawn before, on a terminal; else one line a look. */
const draw = (args: Arguments, samples: ReadonlyArray<UsageSample>, first: boolean): void => {
  const { out, interactive } = args.terminal
  const lines = usageChart(samples)
  if (args.json) out(`${stringifyLossless(samples.at(-1))}\n`)
  else if (!interactive) out(`${lines.map((line) => line.trimEnd()).join("   ")}\n`)
  else out(`${first ? "" : `\u001b[${lines.length}A`}${lines.map((line) => `\u001b[2K${line}\n`).join("")}`)
}

/** `portolan allocations ...`, over the client that `provide` gives. */
export const allocationCommands = (provide: SchedulerProviders) => {
  const look = (args: Arguments) =>
    provide.client(useCases.allocationStats({ allocationId: args.positionals[0] ?? "", ...placeOf(args) }))

  const watch = Effect.fnUntraced(function* (args: Arguments) {
    const seconds = yield* readSeconds(args)
    const looks = yield* readLooks(args)
    let samples: ReadonlyArray<UsageSample> = []
    for (let done = 0; done < looks; done++) {
      if (done > 0) yield* Effect.sleep(seconds * 1000)
      samples = [...samples, usageSample(yield* look(args))].slice(-WIDTH)
      draw(args, samples, done === 0)
    }
    return { json: undefined, text: "" }
  })

  const stats: Command = {
    path: ["allocations", "stats"],
    summary: "Shows the memory and CPU an allocation uses",
    positionals: ["allocation"],
    options: {
      ...PLACE_OPTIONS,
      watch: { type: "boolean" },
      interval: { type: "string" },
      count: { type: "string" },
    },
    details: [
      "--watch             draw memory and CPU over time; with --json one line a look",
      "--interval <value>  seconds between two looks, 1 when omitted",
      "--count <value>     looks before it ends; until Ctrl-C when omitted",
    ],
    ongoing: true,
    run: (args) =>
      args.options["watch"] === true
        ? watch(args)
        : Effect.map(look(args), (usage) => ({ json: usage, text: usageChart([usageSample(usage)]).join("\n") })),
  }

  const list: Command = {
    path: ["allocations", "list"],
    summary: "Lists the allocations of a node",
    positionals: ["node"],
    options: PLACE_OPTIONS,
    run: (args) =>
      Effect.map(
        provide.client(useCases.getAllocations({ nodeId: args.positionals[0] ?? "", ...placeOf(args) })),
        (allocations) => ({
          json: allocations,
          text: textTable(
            ["id", "job", "group", "status", "wanted"],
            allocations.NomadAllocations.map((each) => [
              each.ID,
              each.JobID,
              each.TaskGroup,
              each.ClientStatus,
              each.DesiredStatus,
            ]),
          ),
        }),
      ),
  }

  return { stats, list }
}
