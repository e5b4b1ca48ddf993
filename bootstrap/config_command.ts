import { Effect } from "effect"
import type { Command } from "../adapters/driving/cli/command.ts"
import { textTable } from "../adapters/driving/cli/text_table.ts"
import { describeConfig, readEnvironment, VARIABLES, type VariableName } from "./config.ts"

/** `portolan config`: prints every variable with its effective value and its meaning. */
export const configCommand: Command = {
  path: ["config"],
  summary: "Prints the effective configuration, secrets masked",
  positionals: [],
  options: {},
  run: () =>
    Effect.map(readEnvironment, (config) => {
      const shown = describeConfig(config)
      const names = Object.keys(shown) as ReadonlyArray<VariableName>
      const rows = names.map((name) => [name, shown[name], VARIABLES[name].meaning])
      return { json: shown, text: textTable(["variable", "value", "meaning"], rows) }
    }),
}
