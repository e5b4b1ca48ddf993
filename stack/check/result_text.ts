import type { CheckRow } from "./ask_case.ts"
import type { Severity } from "./check_case.ts"
import { countsSentence, type FailOn, failuresIn, verdictSentence } from "./fail_on.ts"
import type { CheckResult } from "./run_check.ts"

/** How the result is shown to a person. */
export interface TextStyle {
  readonly failOn: FailOn
  /** True to show every row rather than only what matters. */
  readonly all: boolean
  readonly colour: boolean
}

/** SGR codes of ECMA-48: bold red, bold magenta, yellow, blue, green, faint. */
const CODES = { hole: "1;31", leak: "1;35", "wrong answer": "33", "stricter than ours": "34", good: "32", faint: "2" }

const painter =
  (colour: boolean) =>
  (code: keyof typeof CODES, text: string): string =>
    colour ? `\u001b[${CODES[code]}m${text}\u001b[0m` : text

type Paint = ReturnType<typeof painter>

/** A difference with everything that is to be said about it. */
const block = ({ severity, name, request, expected, note, why, source, reproduce }: CheckRow, paint: Paint): string => {
  const title = name === request || request.endsWith(` ${name}`) ? request : `${name} (${request})`
  return [
    `${paint(severity as Severity, String(severity).toUpperCase())}  ${title}`,
    `      expected ${expected}; ${note}`,
    `      ${why} ${paint("faint", `[${source}]`)}`,
    ...(reproduce === undefined ? [] : [`      ${reproduce}`]),
  ].join("\n")
}

const word = ({ outcome, severity }: CheckRow, paint: Paint): string => {
  const width = 18
  if (severity !== undefined) return paint(severity, severity.padEnd(width))
  return outcome === "as expected" ? paint("good", "ok".padEnd(width)) : paint("faint", outcome.padEnd(width))
}

const line = (row: CheckRow, paint: Paint): string => {
  const { name, request, expected, got, note } = row
  const asked = request.endsWith(` ${name}`) ? request : `${name}: ${request}`
  return `${word(row, paint)}  ${asked}  ${got}${row.severity === undefined ? "" : ` (expected ${expected})`}${note === undefined || note === `answered ${got}` ? "" : `; ${note}`}`
}

/**
 * The result for a person: holes and leaks one by one, the rest as a count.
 *
 * @returns several lines without a line break at the end
 */
export const resultText = (result: CheckResult, { failOn, all, colour }: TextStyle): string => {
  const paint = painter(colour)
  const { rows, target } = result
  const shown = rows.filter(({ severity }) => severity === "hole" || severity === "leak" || (all && severity))
  const variables = new Set(shown.flatMap(({ reproduce = "" }) => /\$[A-Z_0-9]+TOKEN[A-Z_0-9]*/.exec(reproduce) ?? []))
  const failed = failuresIn(result, failOn) > 0
  return [
    `${target.proxyUrl}: ${target.routes.join(", ")}`,
    `upstream: ${target.upstream}`,
    "",
    ...shown.map((row) => `${block(row, paint)}\n`),
    ...(all ? [...rows.filter(({ severity }) => severity === undefined).map((row) => line(row, paint)), ""] : []),
    ...(variables.size === 0
      ? []
      : ["The lines take tokens from variables: --tokens-to file writes them, and `. ./file` sets them.", ""]),
    `${countsSentence(result)}${all ? "" : paint("faint", " (--all shows every row)")}`,
    paint(failed ? "hole" : "good", verdictSentence(result, failOn)),
  ].join("\n")
}
