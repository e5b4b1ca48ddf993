import { Effect, Redacted } from "effect"
import { done, type Report } from "../adapters/driving/cli/command.ts"
import { textTable } from "../adapters/driving/cli/text_table.ts"
import { type Config, describeConfig, readEnvironment, VARIABLES, type VariableName } from "./config.ts"
import { setupMistake } from "./setup_mistake.ts"

/** The realm's keys are counted as the service would read them: whoever set two must not take one for both. */
const describeKeys = Effect.fnUntraced(function* ({ AUTH_PUBLIC_KEY: source }: Config) {
  if (source === undefined) return null
  const { readKeys } = yield* Effect.promise(() => import("../adapters/driven/token_verifier/jose_keys.ts"))
  const { length } = yield* Effect.mapError(readKeys(Redacted.value(source)), setupMistake)
  return `${length} RSA ${length === 1 ? "key" : "keys"}`
})

/** `portolan config`: every variable with its effective value and its meaning. Of the realm's keys it tells the number. */
export const showConfig = Effect.gen(function* () {
  const config = yield* readEnvironment
  const shown = { ...describeConfig(config), AUTH_PUBLIC_KEY: yield* describeKeys(config) }
  const names = Object.keys(shown) as ReadonlyArray<VariableName>
  const rows = names.map((name) => [name, shown[name], VARIABLES[name].meaning])
  return done(shown, textTable(["variable", "value", "meaning"], rows))
})

/** `portolan config --variables`: every variable with its default and its meaning, whatever is set now. */
export const listVariables: Report = (() => {
  const names = Object.keys(VARIABLES) as ReadonlyArray<VariableName>
  const rows = names.map((name) => [name, VARIABLES[name].fallback ?? "", VARIABLES[name].meaning] as const)
  const json = rows.map(([variable, fallback, meaning]) => ({ variable, default: fallback, meaning }))
  return done(json, textTable(["variable", "default", "meaning"], rows))
})()
