import { type CheckCase, leak, wrong } from "./check_case.ts"
import type { CheckedGateway } from "./checked_gateway.ts"
import { loginAnswers } from "./path_cases.ts"

const EVIL = "evil.example"

const keepsHome: NonNullable<CheckCase["answered"]> = (head) =>
  head.includes(EVIL) ? leak("the answer repeats a host the client made up") : undefined

/** Where a redirect leads, if the answer is one. */
const locationIn = (head: string): string | undefined => /^location: (\S+)/im.exec(head)?.[1]

/** The browser's route of any gateway, asked by something that is no browser (cases 28, 36, 42). */
const anyLogin = (gateway: CheckedGateway, target: string): ReadonlyArray<CheckCase> => [
  {
    group: "login",
    name: "login from a host the client made up",
    reason: "login-host",
    target,
    headers: [
      ["X-Forwarded-Host", EVIL],
      ["X-Forwarded-Proto", "https"],
      ["Forwarded", `host=${EVIL}`],
    ],
    ...loginAnswers(gateway),
    answered: keepsHome,
  },
  {
    group: "login",
    name: "login under a Host the client made up",
    reason: "login-host",
    target,
    headers: [["Host", EVIL]],
    expect: [...loginAnswers(gateway).expect, "400", "404", "421"],
    expectation: "a way to the login, or a refusal",
    answered: keepsHome,
  },
  {
    group: "login",
    name: "login with PKCE, state and nonce",
    reason: "login",
    target,
    ...loginAnswers(gateway),
    answered: (head) => {
      const location = locationIn(head)
      // A gateway of somebody else may show a page of its own first.
      if (location === undefined || (!gateway.isStack && !location.includes("client_id="))) return undefined
      const wanted = [/code_challenge_method=S256/, /code_challenge=[\w-]{43}/, /state=[\w%-]{16,}/, /nonce=[\w-]{16,}/]
      const missing = wanted.find((pattern) => !pattern.test(location))
      return missing === undefined ? undefined : wrong(`the address does not match ${missing.source}`)
    },
  },
  {
    group: "login",
    name: "cookie of a login is HttpOnly, SameSite, whole-site",
    reason: "cookie",
    target,
    ...loginAnswers(gateway),
    answered: (head) => {
      const cookies = head.split("\r\n").filter((line) => /^set-cookie:/i.test(line))
      const kept = cookies.filter((line) => !/max-age=0|expires=\w+, 01.jan.1970/i.test(line))
      const weak = kept.find((line) => !/HttpOnly/i.test(line) || !/SameSite=(Lax|Strict)/i.test(line))
      return weak === undefined ? undefined : wrong("a cookie lacks HttpOnly or SameSite")
    },
  },
]

/** What only the stack's own browser route promises (cases 33 and 42). */
const STACK_LOGIN: ReadonlyArray<CheckCase> = [
  {
    group: "login",
    name: "script without session",
    reason: "no-browser",
    target: "/oidc/x",
    headers: [["Sec-Fetch-Mode", "cors"]],
    expect: ["401"],
  },
  {
    group: "login",
    name: "JSON client without session",
    reason: "no-browser",
    target: "/oidc/x",
    headers: [["Accept", "application/json"]],
    expect: ["401"],
  },
  ...(
    [
      ["callback without a login", "/oidc/cb?code=x&state=y", ["400"]],
      ["callback without anything", "/oidc/cb", ["400"]],
      ["refused login that was never begun", "/oidc/cb?error=access_denied&state=y", ["400", "401", "403"]],
    ] as const
  ).map(([name, target, expect]): CheckCase => ({ group: "login", name, reason: "login", target, expect })),
  {
    group: "login",
    name: "made-up session",
    reason: "no-credential",
    target: "/oidc/x",
    headers: [["Cookie", "portolan_session=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]],
    expect: ["302"],
  },
  {
    group: "login",
    name: "logout asked for by another site",
    reason: "logout",
    target: "/oidc/logout",
    headers: [["Sec-Fetch-Site", "cross-site"]],
    expect: ["403"],
  },
]

/** The login of a browser. */
export const loginCases = (gateway: CheckedGateway): ReadonlyArray<CheckCase> =>
  gateway.routes.flatMap(({ policy, target }) =>
    policy === "oidc-browser" ? [...anyLogin(gateway, target), ...(gateway.isStack ? STACK_LOGIN : [])] : [],
  )
