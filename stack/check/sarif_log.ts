import { createHash } from "node:crypto"
import type { CheckRow } from "./ask_case.ts"
import type { Severity } from "./check_case.ts"
import { REASONS } from "./reasons.ts"
import type { CheckResult } from "./run_check.ts"

const LEVELS: Readonly<Record<Severity, "error" | "warning" | "note">> = {
  hole: "error",
  leak: "error",
  "wrong answer": "warning",
  "stricter than ours": "note",
}

const RULES = Object.entries(REASONS).map(([id, { why, source }]) => ({
  id,
  shortDescription: { text: why },
  help: { text: source },
}))

/** An address in which every character is one that a URI may have. */
const uriOf = (origin: string, target: string): string =>
  origin +
  encodeURI(target.startsWith("/") ? target : `/${target}`).replace(
    /[[\]]/g,
    (each) => `%${each === "[" ? "5B" : "5D"}`,
  )

const resultOf = (row: CheckRow, severity: Severity, origin: string) => {
  const { name, method, target, reason, note, expected, got, why, source, reproduce } = row
  const status = Number(got.split(" ")[0])
  return {
    ruleId: reason,
    ruleIndex: RULES.findIndex(({ id }) => id === reason),
    kind: "fail",
    level: LEVELS[severity],
    message: {
      text: [`${severity}: ${name}: expected ${expected}; ${note}. ${why} (${source})`, reproduce]
        .filter((line) => line !== undefined)
        .join("\n"),
    },
    locations: [
      {
        physicalLocation: { artifactLocation: { uri: uriOf(origin, target) } },
        logicalLocations: [{ fullyQualifiedName: `${method} ${target}`, kind: "resource" }],
      },
    ],
    webRequest: { protocol: "HTTP", version: "1.1", method, target: uriOf(origin, target) },
    ...(Number.isInteger(status) ? { webResponse: { protocol: "HTTP", statusCode: status } } : {}),
    partialFingerprints: { "gatewayCheckRow/v1": createHash("sha256").update(name).digest("hex") },
    properties: { severity },
  }
}

/**
 * The differences as a SARIF 2.1.0 log, for tools that gather findings.
 *
 * @param version of the program
 * @see https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
 */
export const sarifLog = ({ target, rows }: CheckResult, version: string) => ({
  $schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
  version: "2.1.0",
  runs: [
    {
      tool: { driver: { name: "portolan stack check", version, rules: RULES } },
      invocations: [{ executionSuccessful: true }],
      results: rows.flatMap((row) =>
        row.severity === undefined ? [] : [resultOf(row, row.severity, target.proxyUrl)],
      ),
    },
  ],
})
