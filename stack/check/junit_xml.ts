import { escapeHtml } from "../escape_html.ts"
import type { CheckRow } from "./ask_case.ts"
import { type FailOn, isFailure } from "./fail_on.ts"
import type { CheckResult } from "./run_check.ts"

/** Escaped for XML 1.0, which has no way to write most control characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are the ones to leave out
const xml = (text: string): string => escapeHtml(text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "?"))

/** An attribute in one line: what reads it takes line breaks for blanks. */
const attribute = (text: string): string => xml(text.replace(/\s+/g, " ").trim())

const details = ({ severity, expected, got, note, why, source, reproduce }: CheckRow): string =>
  [
    severity === undefined ? (note ?? "") : `${severity}: ${note}`,
    `expected ${expected}, got ${got}`,
    ...(why === undefined ? [] : [why]),
    ...(source === undefined ? [] : [source]),
    ...(reproduce === undefined ? [] : [reproduce]),
  ].join("\n")

const testcase = (row: CheckRow, failOn: FailOn): string => {
  const { group, name, request, severity, outcome, note = "" } = row
  const title = request.endsWith(` ${name}`) ? request : `${name} (${request})`
  const open = `<testcase name="${attribute(title)}" classname="gateway.${group}" time="0"`
  if (isFailure(severity, failOn))
    return `${open}><failure message="${attribute(`${severity}: ${note}`)}" type="${severity}">${xml(details(row))}</failure></testcase>`
  return outcome === "not asked" ? `${open}><skipped/></testcase>` : `${open}/>`
}

/**
 * The result as JUnit XML: a test suite for each group of rows, a failure for each difference that makes the check fail. The
 * other differences are listed in `system-out`.
 *
 * @param at when the check ended
 * @see the schemas of Jenkins' xUnit plugin (junit-10.xsd) and of Ant's JUnit task
 */
export const junitXml = ({ target, rows }: CheckResult, failOn: FailOn, at: Date): string => {
  const { hostname } = new URL(target.proxyUrl)
  const suites = [...new Set(rows.map(({ group }) => group))].map((group, id) => {
    const own = rows.filter((row) => row.group === group)
    const failures = own.filter(({ severity }) => isFailure(severity, failOn)).length
    const skipped = own.filter(({ outcome }) => outcome === "not asked").length
    const others = own.filter(({ severity }) => severity !== undefined && !isFailure(severity, failOn))
    return `<testsuite name="gateway.${group}" package="gateway" id="${id}" hostname="${attribute(hostname)}" tests="${own.length}" failures="${failures}" errors="0" skipped="${skipped}" time="0" timestamp="${at.toISOString().slice(0, 19)}">
<properties><property name="gateway" value="${attribute(target.proxyUrl)}"/></properties>
${own.map((row) => testcase(row, failOn)).join("\n")}
<system-out>${others.map((row) => xml(`${row.name}\n${details(row)}\n`)).join("\n")}</system-out>
<system-err></system-err>
</testsuite>`
  })
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join("\n")}\n</testsuites>\n`
}
