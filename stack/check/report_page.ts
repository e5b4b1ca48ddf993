import { escapeHtml } from "../escape_html.ts"
import type { CheckRow } from "./ask_case.ts"
import { SEVERITIES, type Severity } from "./check_case.ts"
import { countsSentence, type FailOn, verdictSentence } from "./fail_on.ts"
import type { CheckResult } from "./run_check.ts"

/** Colours of text have a contrast of at least 4.5 to the page in both schemes (WCAG 2.2, 1.4.3). */
const STYLE = `
  :root { color-scheme: light dark; --page: #fff; --text: #1b1b1f; --line: #8884; --box: #f3f3f6;
    --hole: #b3261e; --leak: #8a1f73; --wrong: #7a5200; --strict: #2b4fa8; --good: #17663d; --none: #5c5c66 }
  @media (prefers-color-scheme: dark) { :root { --page: #16161a; --text: #e8e8ee; --line: #fff3; --box: #23232a;
    --hole: #ff9089; --leak: #f39ae0; --wrong: #e6c067; --strict: #a3bdff; --good: #7fd8a4; --none: #b3b3bf } }
  body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem;
    background: var(--page); color: var(--text) }
  h1 { font-size: 1.4rem; margin-bottom: .25rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
  .sum { display: flex; flex-wrap: wrap; gap: 2rem; margin: 1rem 0; font-size: 1.05rem } .sum b { font-size: 1.6rem; display: block }
  .scroll { overflow-x: auto } table { border-collapse: collapse; width: 100% }
  th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top }
  th { font-weight: 600 } td code { word-break: break-all }
  .matrix td, .matrix th { text-align: center } .matrix td:first-child, .matrix th:first-child { text-align: left }
  article { background: var(--box); border-left: 4px solid currentColor; margin: .75rem 0; padding: .6rem 1rem }
  article > * { color: var(--text); margin: .2rem 0 } article > h3 { color: inherit; font-size: 1rem }
  pre { overflow-x: auto; white-space: pre-wrap; word-break: break-all }
  .hole { color: var(--hole) } .leak { color: var(--leak) } .wrong { color: var(--wrong) } .strict { color: var(--strict) }
  .ok { color: var(--good) } .not { color: var(--none) }
`

const CLASSES: Readonly<Record<Severity, string>> = {
  hole: "hole",
  leak: "leak",
  "wrong answer": "wrong",
  "stricter than ours": "strict",
}

const classOf = ({ outcome, severity }: CheckRow): string =>
  severity === undefined ? (outcome === "as expected" ? "ok" : "not") : CLASSES[severity]

const markOf = ({ outcome, severity }: CheckRow): string =>
  severity ?? (outcome === "as expected" ? "✓" : "– not asked")

const article = (row: CheckRow): string => `<article class="${classOf(row)}">
<h3>${escapeHtml(`${row.severity}: ${row.name}`)}</h3>
<p><code>${escapeHtml(row.request)}</code> expected ${escapeHtml(row.expected)}; ${escapeHtml(row.note ?? "")}</p>
<p>${escapeHtml(row.why ?? "")} (${escapeHtml(row.source ?? "")})</p>
${row.reproduce === undefined ? "" : `<pre>${escapeHtml(row.reproduce)}</pre>`}
</article>`

const line = (row: CheckRow): string =>
  `<tr><td class="${classOf(row)}">${markOf(row)}</td><td>${escapeHtml(row.name)}</td><td><code>${escapeHtml(row.request)}</code></td><td>${escapeHtml(row.expected)}</td><td>${escapeHtml(row.got)}</td><td>${escapeHtml(row.note ?? "")}</td></tr>`

const table = (rows: ReadonlyArray<CheckRow>): string =>
  `<div class="scroll"><table><thead><tr><th>Result</th><th>Case</th><th>Request</th><th>Expected</th><th>Got</th><th>Note</th></tr></thead><tbody>
${rows.map(line).join("\n")}
</tbody></table></div>`

/** The tokens' rows as a matrix: one line per credential, one column per route. */
const matrix = (rows: ReadonlyArray<CheckRow>): string => {
  const routes = [...new Set(rows.flatMap(({ cell }) => cell?.route ?? []))]
  const names = [...new Set(rows.flatMap(({ cell }) => cell?.credential ?? []))]
  if (routes.length === 0) return "<p>No route asks for a token.</p>"
  const byCell = new Map(rows.map((row) => [`${row.cell?.credential} ${row.cell?.route}`, row]))
  const cell = (name: string, route: string) => {
    const row = byCell.get(`${name} ${route}`)
    if (row === undefined) return "<td></td>"
    const text =
      row.severity === undefined
        ? `${markOf(row)} ${row.got}`
        : `${row.severity}: ${row.got} (expected ${row.expected})`
    return `<td class="${classOf(row)}">${escapeHtml(text)}</td>`
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
export const reportPage = (result: CheckResult, failOn: FailOn, at: Date): string => {
  const { target, rows, severities, asExpected, notAsked } = result
  const grave = rows.filter(({ severity }) => severity === "hole" || severity === "leak")
  const groups = [...new Set(rows.map(({ group }) => group))]
  const sum = [
    ...SEVERITIES.map((each) => [CLASSES[each], severities[each], each] as const),
    ["ok", asExpected, "as expected"] as const,
    ["not", notAsked, "not asked"] as const,
  ]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gateway check: ${escapeHtml(verdictSentence(result, failOn))}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Gateway check: ${escapeHtml(verdictSentence(result, failOn))}</h1>
<div>${escapeHtml(target.proxyUrl)}, ${escapeHtml(target.routes.join(", "))}, ${escapeHtml(at.toISOString())}</div>
<div>Upstream: ${escapeHtml(target.upstream)}</div>
<div class="sum">${sum.map(([name, count, title]) => `<div class="${name}"><b>${count}</b>${title}</div>`).join("")}</div>
<h2>Holes and leaks</h2>
${grave.length === 0 ? `<p>None. ${escapeHtml(countsSentence(result))}.</p>` : grave.map(article).join("\n")}
<h2>Tokens by route</h2>
${matrix(rows.filter(({ cell }) => cell !== undefined))}
${groups.map((group) => `<h2>${escapeHtml(group)}</h2>\n${table(rows.filter((row) => row.group === group))}`).join("\n")}
</body>
</html>
`
}
