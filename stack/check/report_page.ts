import { escapeHtml } from "../escape_html.ts"
import type { CheckRow } from "./ask_case.ts"
import type { CheckResult } from "./run_check.ts"

const STYLE = `
  :root { color-scheme: light dark; --line: #8884; --bad: #b3261e; --good: #1b7f4b; --none: #7a6a00 }
  body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem }
  h1 { font-size: 1.4rem; margin-bottom: .25rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
  .sum { display: flex; gap: 2rem; margin: 1rem 0; font-size: 1.1rem } .sum b { font-size: 1.6rem; display: block }
  .scroll { overflow-x: auto } table { border-collapse: collapse; width: 100% }
  th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top }
  th { font-weight: 600 } td code { word-break: break-all } .matrix td, .matrix th { text-align: center } .matrix td:first-child, .matrix th:first-child { text-align: left }
  .different { color: var(--bad); font-weight: 600 } .ok { color: var(--good) } .not { color: var(--none) }
`

const CLASS: Readonly<Record<CheckRow["outcome"], string>> = {
  "as expected": "ok",
  different: "different",
  "not asked": "not",
}

const MARK: Readonly<Record<CheckRow["outcome"], string>> = { "as expected": "✓", different: "✗", "not asked": "–" }

const line = (row: CheckRow): string =>
  `<tr class="${CLASS[row.outcome]}"><td>${MARK[row.outcome]}</td><td>${escapeHtml(row.name)}</td><td><code>${escapeHtml(row.request)}</code></td><td>${escapeHtml(row.expected)}</td><td>${escapeHtml(row.got)}</td><td>${escapeHtml(row.note ?? "")}</td></tr>`

const table = (rows: ReadonlyArray<CheckRow>): string =>
  `<div class="scroll"><table><thead><tr><th></th><th>Case</th><th>Request</th><th>Expected</th><th>Got</th><th>What is different</th></tr></thead><tbody>
${rows.map(line).join("\n")}
</tbody></table></div>`

const ON_ROUTE = /^(.+) on (\/[\w-]+)$/

/** Rows named "credential on route" as a matrix: one line per credential, one column per route. */
const matrix = (rows: ReadonlyArray<CheckRow>): string => {
  const cells = rows.flatMap((row) => {
    const [, name, route] = ON_ROUTE.exec(row.name) ?? []
    return name === undefined || route === undefined ? [] : [{ name, route, row }]
  })
  const routes = [...new Set(cells.map(({ route }) => route))]
  const names = [...new Set(cells.map(({ name }) => name))]
  const cell = (name: string, route: string) => {
    const row = cells.find((each) => each.name === name && each.route === route)?.row
    if (row === undefined) return "<td></td>"
    const text =
      row.outcome === "different" ? `${row.got} (expected ${row.expected})` : `${MARK[row.outcome]} ${row.got}`
    return `<td class="${CLASS[row.outcome]}">${escapeHtml(text)}</td>`
  }
  return `<div class="scroll"><table class="matrix"><thead><tr><th>Credential</th>${routes.map((route) => `<th>${escapeHtml(route)}</th>`).join("")}</tr></thead><tbody>
${names.map((name) => `<tr><td>${escapeHtml(name)}</td>${routes.map((route) => cell(name, route)).join("")}</tr>`).join("\n")}
</tbody></table></div>`
}

/**
 * The result as one page that needs nothing else: differences first, then the matrix, then every row.
 *
 * @param at when the check ended
 */
export const reportPage = ({ target, rows, asExpected, different, notAsked }: CheckResult, at: Date): string => {
  const tokens = rows.filter(({ group }) => group === "tokens")
  const groups = [...new Set(rows.map(({ group }) => group))].filter((group) => group !== "tokens")
  const differences = rows.filter(({ outcome }) => outcome === "different")
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gateway check: ${different === 0 ? "as expected" : `${different} different`}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Gateway check</h1>
<div>${escapeHtml(target.proxyUrl)}, line ${escapeHtml(target.line)}, ${escapeHtml(target.variant)}, ${escapeHtml(at.toISOString())}</div>
<div class="sum"><div class="${different === 0 ? "" : "different"}"><b>${different}</b>different</div><div class="ok"><b>${asExpected}</b>as expected</div><div class="not"><b>${notAsked}</b>not asked</div></div>
<h2>Different</h2>
${differences.length === 0 ? "<p>Nothing: every request was answered as it should be.</p>" : table(differences)}
<h2>Tokens by route</h2>
${matrix(tokens)}
${groups.map((group) => `<h2>${escapeHtml(group)}</h2>\n${table(rows.filter((row) => row.group === group))}`).join("\n")}
</body>
</html>
`
}
