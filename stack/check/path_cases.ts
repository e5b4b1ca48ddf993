import { type CheckCase, isRefusal, wrong } from "./check_case.ts"
import type { CheckedGateway, CheckedRoute } from "./checked_gateway.ts"
import type { ReasonName } from "./reasons.ts"

type Row = Pick<CheckCase, "target" | "expect" | "reason"> & Partial<CheckCase>

const segmentsOf = (path: string): ReadonlyArray<string> => path.split("/").slice(1)
const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/"))
const lastOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1)
const inCapital = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1)

/** The last segment with its first character escaped: another spelling of the same path (RFC 3986 section 6.2.2.2). */
const spelled = (path: string): string => {
  const last = lastOf(path)
  return `${parentOf(path)}/%${last.charCodeAt(0).toString(16)}${last.slice(1)}`
}

/** From one path up to what it shares with another, and down to that: `/../secret` from `/open/allowed`. */
const climb = (from: string, to: string, dots: string, first = "/", slash = first): string => {
  const [up, down] = [segmentsOf(from), segmentsOf(to)]
  const shared = up.findIndex((segment, at) => segment !== down[at])
  const common = shared === -1 ? up.length : shared
  return first + [...up.slice(common).map(() => dots), ...down.slice(common)].join(slash)
}

const row = (
  reason: ReasonName,
  target: string,
  expect: ReadonlyArray<string>,
  more: Partial<CheckCase> = {},
): Row => ({
  reason,
  target,
  expect,
  ...more,
})

/** A spelling of a path that is open in its plain spelling. */
const odd = (target: string, expect: ReadonlyArray<string> = ["403"]): Row =>
  row("path-confusion", target, expect, { harmless: true })

/**
 * Rows around the open path. The path tricks of specification 17.
 *
 * @param upstreamPath what the upstream sees of the open path
 */
const openRows = (open: string, word: string, upstreamPath: string): ReadonlyArray<Row> => {
  const passes = (target: string, seen: string, more: Partial<CheckCase> = {}): Row =>
    row("open", target, ["200"], {
      received: ({ path }) => (path === seen ? undefined : wrong(`the upstream received ${path} instead of ${seen}`)),
      ...more,
    })
  const [parent, last] = [parentOf(open), lastOf(open)]
  return [
    passes(open, upstreamPath, { mustPass: true }),
    passes(`${open}/`, `${upstreamPath}/`),
    passes(`${open}/x`, `${upstreamPath}/x`),
    passes(`${open}?p=/${word}`, `${upstreamPath}?p=/${word}`, { mustPass: true }),
    passes(spelled(open), upstreamPath),
    passes(`http://evil.example${open}`, upstreamPath),
    row("path-prefix", `${open}x`, ["403"]),
    odd(`${open};x=1`),
    odd(`/${open}`),
    odd(`${parent}//${last}`),
    odd(`/x/..${open}`),
    row("path-prefix", `${parent}/${inCapital(last)}`, ["403"]),
    ...(parent === ""
      ? []
      : [row("path-prefix", `${parent.toUpperCase()}/${last}`, ["404"]), odd(`${parent}%2f${last}`, ["404", "403"])]),
    row("bad-target", `${open}%00`, ["400"]),
    row("bad-target", `${open}%zz`, ["400"]),
    row("bad-target", `${open}%`, ["400"]),
    row("bad-target", `${open}%0d%0ax`, ["400"]),
  ]
}

/** Rows around the path that is refused. */
const secretRows = (secret: string, word: string): ReadonlyArray<Row> => {
  const [parent, last] = [parentOf(secret), lastOf(secret)]
  const hidden = (target: string, expect: ReadonlyArray<string> = ["403"]) => row("path-confusion", target, expect)
  return [
    row("refused-path", secret, ["403"]),
    hidden(`${secret};x=1`),
    hidden(`${secret};/${word}`),
    hidden(`${secret}/`),
    row("refused-path", `${secret}?p=/${word}`, ["403"]),
    hidden(`/${secret}`),
    hidden(`${parent}//${last}`),
    hidden(`${parent}/./${last}`),
    ...(parent === "" ? [] : [hidden(`/.${secret}`)]),
    hidden(spelled(secret)),
    hidden(`${parent}/${inCapital(last)}`),
    ...(parent === ""
      ? []
      : [hidden(`${parent.toUpperCase()}/${last}`, ["404"]), hidden(`${parent}%2F${last}`, ["404", "403"])]),
    hidden(`http://evil.example${secret}`),
  ]
}

/** Ways from the open path to the refused one. */
const tricks = (open: string, secret: string): ReadonlyArray<Row> => {
  const to = (dots: string, first?: string, slash?: string) => open + climb(open, secret, dots, first, slash)
  return [
    ...[
      to(".."),
      to("%2e%2e"),
      to("%2E%2E"),
      to("%2E."),
      to(".%2e"),
      to("..", "%2f"),
      to("%2E%2E", "%2F"),
      to("..;"),
      to("..%3b"),
      to("..", "/", "%5c"),
      to("..", "/", "%5C"),
      to("..", "\\"),
      to("%252e%252e"),
      to("%25%32%65%25%32%65"),
      to("..", "%252f"),
    ].map((target) => row("path-confusion", target, ["403"])),
    odd(secret + climb(secret, open, "..")),
    row("path-confusion", `${open}%00${climb(open, secret, "..")}`, ["400"]),
    row("path-confusion", `${open}#${climb(open, secret, "..")}`, ["400"]),
    // A router that refuses what is not UTF-8 knows no such path.
    row("path-confusion", `${parentOf(open)}/%c0%ae%c0%ae/${lastOf(secret)}`, ["400", "404"]),
  ]
}

/** Paths of the stack that only its own gateway is known to refuse. */
const STACK_ROWS: ReadonlyArray<Row> = [
  ...["/open", "/open/"].map((target) => row("refused-path", target, ["403"])),
  ...["/open/allowed/..", "//evil.example/../oidc/x"].map((target) => row("path-confusion", target, ["403"])),
  ...["/openallowed", "/opensecret", "/apix", "/jwtfoo", "/api-accessx"].map((target) =>
    row("path-prefix", target, ["404"]),
  ),
  ...["/nothing", "/"].map((target) => row("refused-path", target, ["404"])),
]

const METHODS = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"] as const

/**
 * What a right gateway of somebody else may do with a path it does not serve: refuse in its own words, or lead to the path in
 * its plain spelling, which is then judged anew.
 */
export const OTHER_REFUSALS = ["301", "302", "303", "307", "308", "400", "401", "403", "404", "421"]

/** What a browser's route may answer where nobody is logged in: ours leads to the login. */
export const loginAnswers = ({ isStack }: CheckedGateway): Pick<CheckCase, "expect" | "expectation"> =>
  isStack
    ? { expect: ["302"] }
    : { expect: ["302", "303", "307", "401", "403"], expectation: "a way to the login, or a refusal" }

const withoutCredentials = (
  gateway: CheckedGateway,
  { policy, label, target }: CheckedRoute,
): ReadonlyArray<CheckCase> =>
  METHODS.map((method) => ({
    group: "routes",
    name: `${method} ${label} without credentials`,
    reason: "no-credential",
    method,
    target,
    ...(policy === "oidc-browser" ? loginAnswers(gateway) : { expect: ["401"] }),
  }))

/**
 * The tricks with paths, and the methods.
 *
 * @param upstreamPath path at which the upstream sees the open path
 */
export const pathCases = (gateway: CheckedGateway, upstreamPath: string): ReadonlyArray<CheckCase> => {
  const { open, secret, routes, isStack } = gateway
  const behind = isStack ? "/jwt" : routes.find(({ target }) => target !== "/")?.target
  const rows: ReadonlyArray<Row> = [
    ...(open === undefined ? [] : openRows(open, lastOf(secret ?? "/x"), upstreamPath)),
    ...(secret === undefined ? [] : secretRows(secret, lastOf(open ?? "/x"))),
    ...(open === undefined || secret === undefined ? [] : tricks(open, secret)),
    ...(secret === undefined || behind === undefined
      ? []
      : [
          row(
            "path-confusion",
            behind +
              segmentsOf(behind)
                .map(() => "/..")
                .join("") +
              secret,
            ["403"],
          ),
        ]),
    ...(isStack ? STACK_ROWS : []),
    ...(secret === undefined
      ? []
      : [
          ...METHODS.map((method) => row("refused-path", secret, ["403"], { method, name: `${method} ${secret}` })),
          row("method", secret, ["405"], { method: "TRACE", name: `TRACE ${secret}` }),
        ]),
  ]
  const named = rows.map((each): CheckCase => ({ group: "paths", name: each.target, ...each }))
  return [
    ...named.map((each) =>
      isStack || !isRefusal(each)
        ? each
        : { ...each, expect: [...new Set([...each.expect, ...OTHER_REFUSALS])], expectation: "a refusal" },
    ),
    ...routes.flatMap((route) => withoutCredentials(gateway, route)),
  ]
}
