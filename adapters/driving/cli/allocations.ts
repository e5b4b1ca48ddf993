import { Effect, Schedule } from "effect"
import * as useCases from "../../../application/scheduler/jobs.ts"
import { stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"
import { type Arguments, type Command, WrongUsage } from "./command.ts"
import { PLACE_OPTIONS, placeOf, type SchedulerProviders } from "./jobs.ts"
import { textTable } from "./text_table.ts"
import { type UsageSample, usageChart, usageSample } from "./usage_chart.ts"

/** Samples that fit beside the labels on a usual terminal. */
const WIDTH = 40

/** An option as a number above 0. */
const readOption = (args: Arguments, name: string, form: RegExp, words: string): Effect.Effect<number, WrongUsage> => {
  const text = String(args.options[name])
  return form.test(text) && Number(text) > 0
    ? Effect.succeed(Number(text))
    : Effect.fail(new WrongUsage({ rule: `--${name} must be ${words}` }))
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
    const { interval, count } = args.options
    const seconds =
      interval === undefined ? 1 : yield* readOption(args, "interval", /^\d{1,4}(\.\d{1,3})?$/, "seconds above 0")
    const looks =
      count === undefined ? Infinity : yield* readOption(args, "count", /^[1-9]\d{0,8}$/, "a whole number above 0")
    let samples: ReadonlyArray<UsageSample> = []
    const lookAndDraw = Effect.map(look(args), (usage) => {
      const first = samples.length === 0
      samples = [...samples, usageSample(usage)].slice(-WIDTH)
      draw(args, samples, first)
    })
    yield* Effect.repeat(lookAndDraw, { schedule: Schedule.spaced(seconds * 1000), times: looks - 1 })
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
    run: Effect.fnUntraced(function* (args: Arguments) {
      const at = { nodeId: args.positionals[0] ?? "", ...placeOf(args) }
      const allocations = yield* provide.client(useCases.getAllocations(at))
      const rows = allocations.NomadAllocations.map((each) => [
        each.ID,
        each.JobID,
        each.TaskGroup,
        each.ClientStatus,
        each.DesiredStatus,
      ])
      return { json: allocations, text: textTable(["id", "job", "group", "status", "wanted"], rows) }
    }),
  }

  return { stats, list }
}
