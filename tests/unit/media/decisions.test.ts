// The pure decisions: classes of failure, pauses, polling, reconciling, budgets, addresses, scrubbing.
import { deepEqual, doesNotMatch, equal, ok } from "node:assert/strict"
import { describe, test } from "node:test"
import { Effect } from "effect"
import fc from "fast-check"
import { makeGraphAddress } from "../../../domain/media/graph_address.ts"
import { appliedBy, classify, type FailureKind, GraphFailure } from "../../../domain/media/graph_failure.ts"
import type { ContainerState } from "../../../domain/media/media_graph_port.ts"
import { fileIdentity, maskUrl, secretsInUrl } from "../../../domain/media/media_url.ts"
import { DEFAULT_WAITING, decidePoll } from "../../../domain/media/polling.ts"
import { decideReconcile, GRACE_MS, publishReaction, SENDS_MAX } from "../../../domain/media/reconcile.ts"
import { retryPause } from "../../../domain/media/retry.ts"
import { makeScrub } from "../../../domain/media/secrets.ts"
import { paceAfter, readUsage } from "../../../domain/media/usage.ts"

type Row = readonly [code: number | undefined, subcode: number | undefined, kind: FailureKind, status?: number]

const CLASSES: ReadonlyArray<Row> = [
  [4, 2207051, "Blocked", 403],
  [1, 2207051, "Blocked"],
  [368, undefined, "Blocked"],
  [25, 2207050, "Blocked"],
  [9, 2207042, "DailyQuota"],
  [9007, 2207027, "NotReady"],
  [24, 2207006, "ContainerGone"],
  [24, 2207008, "ContainerGone"],
  [-2, 2207020, "ContainerGone"],
  [9004, 2207052, "MediaFetch"],
  [-2, 2207003, "MediaFetch"],
  [352, 2207026, "MediaRejected"],
  [36000, 2207004, "MediaRejected"],
  [36001, 2207005, "MediaRejected"],
  [36003, 2207009, "MediaRejected"],
  [36004, 2207010, "InvalidInput"],
  ...[2207023, 2207028, 2207035, 2207036, 2207037, 2207040, 2207067, 2207089].map(
    (subcode): Row => [100, subcode, "InvalidInput"],
  ),
  [1, 2207057, "InvalidInput"],
  [110, 2207018, "InvalidInput"],
  [2500, undefined, "InvalidInput"],
  [506, undefined, "InvalidInput"],
  [-1, 2207001, "ServerTransient"],
  [-1, 2207032, "ServerTransient"],
  [-1, 2207053, "ServerTransient"],
  [1, undefined, "ServerTransient", 500],
  [2, undefined, "ServerTransient"],
  ...[4, 17, 32, 341, 613, 80001, 80002, 80014].map((code): Row => [code, undefined, "Throttled"]),
  [4, undefined, "Throttled", 403],
  [190, 463, "TokenInvalid"],
  [190, undefined, "TokenInvalid", 500],
  [102, undefined, "TokenInvalid"],
  [3, undefined, "Permission"],
  [10, undefined, "Permission", 403],
  [200, undefined, "Permission", 403],
  [299, undefined, "Permission"],
  [424242, 999, "Unrecognised"],
  [1, 12345, "Unrecognised"],
  [300, undefined, "Unrecognised"],
  [424242, undefined, "ServerTransient", 503],
  [424242, undefined, "Throttled", 429],
  [undefined, undefined, "Protocol", 400],
  [undefined, undefined, "Throttled", 429],
  [undefined, undefined, "ServerTransient", 502],
]

describe("classify()", () => {
  for (const [code, subcode, kind, status = 400] of CLASSES)
    test(`${status} ${code}/${subcode} is ${kind}`, () =>
      equal(classify({ operation: "create", status, code, subcode }), kind))

  test("55 the transient mark decides only what nobody knows", () => {
    const of = (code: number, subcode: number) =>
      classify({ operation: "create", status: 400, code, subcode, transient: true })
    equal(of(424242, 999), "ServerTransient")
    equal(of(4, 2207051), "Blocked")
    equal(of(100, 2207028), "InvalidInput")
  })

  test("100/33 is an outage when a container is read, else a wrong request", () => {
    const of = (operation: "status" | "create") => classify({ operation, status: 400, code: 100, subcode: 33 })
    deepEqual([of("status"), of("create")], ["StatusUnavailable", "InvalidInput"])
  })

  test("codes 1 and 101 on the token endpoint mean a wrong app", () => {
    for (const code of [1, 101]) equal(classify({ operation: "app-token", status: 400, code }), "TokenInvalid")
  })

  test("what leaves open whether the graph acted", () => {
    deepEqual([appliedBy("Blocked", 2207051), appliedBy("Blocked", undefined)], ["unknown", "no"])
    deepEqual([appliedBy("ContainerGone", 2207008), appliedBy("ContainerGone", 2207006)], ["unknown", "no"])
    for (const kind of ["ServerTransient", "Protocol", "Unrecognised", "Network"] as const)
      equal(appliedBy(kind, undefined), "unknown")
    for (const kind of ["Throttled", "InvalidInput", "TokenInvalid", "NotReady", "ContainerGone"] as const)
      equal(appliedBy(kind, undefined), "no")
  })
})

const failure = (kind: FailureKind, more: Partial<ConstructorParameters<typeof GraphFailure>[0]> = {}) =>
  new GraphFailure({ kind, operation: "create", applied: appliedBy(kind, more.subcode), ...more })

describe("retryPause()", () => {
  test("repeats only what may pass, at most three calls", () => {
    const calls = (kind: FailureKind): number => {
      let call = 1
      while (retryPause(failure(kind), call) !== undefined) call++
      return call
    }
    for (const kind of ["ServerTransient", "Network", "MediaFetch", "Throttled", "StatusUnavailable"] as const)
      equal(calls(kind), 3, kind)
    equal(calls("Protocol"), 2)
    for (const kind of ["Blocked", "MediaRejected", "InvalidInput", "TokenInvalid", "Unrecognised"] as const)
      equal(calls(kind), 1, kind)
  })

  test("waits as long as the graph says", () => {
    equal(retryPause(failure("Throttled", { retryAfterMs: 2000 }), 1), 2000)
    deepEqual(
      [1, 2].map((call) => retryPause(failure("MediaFetch"), call)),
      [5_000, 15_000],
    )
  })
})

describe("decidePoll()", () => {
  const look = (state: ContainerState, at: { look: number; elapsedMs: number }) =>
    decidePoll(state, { ...at, waiting: DEFAULT_WAITING })

  test("ends on every final state", () => {
    const first = { look: 1, elapsedMs: 0 }
    deepEqual(
      (["finished", "published", "error", "expired"] as const).map((state) => look(state, first).next),
      ["ready", "published", "failed", "expired"],
    )
  })

  for (const state of ["in-progress", "unknown"] as const)
    test(`80 waits on ${state}: pauses grow to the ceiling and end with the budget`, () => {
      let elapsedMs = 0
      const pauses: Array<number> = []
      for (let count = 1; ; count++) {
        const decision = look(state, { look: count, elapsedMs })
        if (decision.next !== "wait") {
          equal(decision.next, "give-back")
          break
        }
        pauses.push(decision.pauseMs)
        elapsedMs += decision.pauseMs
      }
      equal(elapsedMs, DEFAULT_WAITING.budgetMs)
      equal(pauses[0], 5_000)
      ok(pauses.every((pause) => pause <= 60_000))
      const growing = pauses.slice(0, -1)
      ok(growing.every((pause, at) => at === 0 || pause >= (growing[at - 1] ?? 0)))
    })
})

describe("publishReaction() and decideReconcile()", () => {
  test("60 blocked 2207051 is looked at and never sent again", () => {
    equal(publishReaction(failure("Blocked", { subcode: 2207051 }), 1), "look-only")
    equal(publishReaction(failure("Blocked"), 1), "refused")
  })

  test("whatever may have acted is looked at", () => {
    for (const kind of ["ServerTransient", "Protocol", "Unrecognised", "Network"] as const)
      equal(publishReaction(failure(kind), 1), "look")
    equal(publishReaction(failure("Network", { applied: "no" }), 1), "later")
  })

  test("whatever certainly did not act is refused, or tried later", () => {
    for (const kind of ["NotReady", "Throttled"] as const) equal(publishReaction(failure(kind), 1), "later")
    for (const kind of ["TokenInvalid", "Permission", "InvalidInput", "DailyQuota", "MediaRejected"] as const)
      equal(publishReaction(failure(kind), 1), "refused")
    equal(publishReaction(failure("ContainerGone", { subcode: 2207006 }), 1), "refused")
  })

  test("a temporary error of the publishing itself does not say that there is no post", () => {
    for (const sends of [1, 2]) equal(publishReaction(failure("ContainerGone", { subcode: 2207008 }), sends), "look")
  })

  test("a container that is gone after a lost call may have been published by it", () => {
    equal(publishReaction(failure("ContainerGone", { subcode: 2207006 }), 2), "look")
  })

  test("sends again only after the whole grace, and not without end", () => {
    const decide = (elapsedMs: number, sentNow = 0, lookOnly = false) =>
      decideReconcile("finished", { elapsedMs, sentNow, lookOnly })
    deepEqual(decide(0), { next: "look-again", pauseMs: 30_000 })
    deepEqual(decide(GRACE_MS - 1), { next: "look-again", pauseMs: 1 })
    equal(decide(GRACE_MS).next, "send-again")
    ok(GRACE_MS >= 90_000)
    equal(decide(GRACE_MS, SENDS_MAX).next, "unknown")
    equal(decide(GRACE_MS, 0, true).next, "unknown")
  })

  test("never sends on any other state, whenever", () => {
    const states: ReadonlyArray<ContainerState | "unreadable"> = [
      "in-progress",
      "error",
      "expired",
      "published",
      "unknown",
      "unreadable",
    ]
    fc.assert(
      fc.property(
        fc.constantFrom(...states),
        fc.nat(3 * GRACE_MS),
        fc.nat(9),
        fc.boolean(),
        (seen, elapsedMs, sentNow, lookOnly) => {
          ok(decideReconcile(seen, { elapsedMs, sentNow, lookOnly }).next !== "send-again")
        },
      ),
    )
    equal(decideReconcile("published", { elapsedMs: 0, sentNow: 0, lookOnly: true }).next, "published")
  })
})

describe("readUsage() and paceAfter()", () => {
  test("takes the largest of every percentage", () => {
    const business = JSON.stringify({
      "1": [
        { type: "instagram", call_count: 95, total_cputime: 20, total_time: 20, estimated_time_to_regain_access: 19 },
      ],
    })
    deepEqual(readUsage({ app: '{"call_count":28,"total_time":25,"total_cputime":80}', business }), {
      appPercent: 80,
      accountPercent: 95,
      regainMs: 19 * 60_000,
    })
  })

  for (const text of [
    null,
    ...'|{|null|[]|7|{"call_count":"95"}|{"1":7}|{"1":[null,7,{}]}|{"call_count":-1}'.split("|"),
  ])
    test(`71 makes nothing of ${text}`, () => deepEqual(readUsage({ app: text, business: text }), {}))

  test("71 clamps what cannot be", () => {
    equal(readUsage({ app: '{"call_count":1e9}', business: null }).appPercent, 100)
    const business = '{"1":[{"estimated_time_to_regain_access":1e12}]}'
    equal(readUsage({ app: null, business }).regainMs, 86_400_000)
  })

  test("is free, slows down, then stops until access is given back", () => {
    deepEqual(
      [undefined, 0, 74, 75, 80, 89, 90, 100].map((percent) => paceAfter(percent, undefined)),
      [0, 0, 0, 0, 1667, 4667, 60_000, 60_000],
    )
    equal(paceAfter(95, 1_140_000), 1_140_000)
    equal(paceAfter(95, 0), 60_000)
  })
})

describe("makeGraphAddress()", () => {
  const made = (graphUrl: string, apiVersion = "v25.0", allowInsecure = false) =>
    Effect.runSync(Effect.result(makeGraphAddress({ graphUrl, apiVersion, allowInsecure })))

  test("14 takes trailing slashes and a prefix", () => {
    for (const url of ["https://graph.example.com", "https://graph.example.com/", "https://graph.example.com//"])
      deepEqual(made(url)["success" as never], { origin: "https://graph.example.com", prefix: "", apiVersion: "v25.0" })
    deepEqual((made("http://127.0.0.1:8080/a/b/", "v999.0") as { success?: unknown }).success, {
      origin: "http://127.0.0.1:8080",
      prefix: "/a/b",
      apiVersion: "v999.0",
    })
  })

  for (const url of [
    "http://graph.example.com",
    "https://u:p4ss@graph.example.com",
    "https://graph.example.com/?a=p4ss",
    "https://graph.example.com/#p4ss",
    "https://graph.example.com/../p4ss",
    "https://graph.example.com/%2e%2e/p4ss",
    "https:\\\\graph.example.com",
    "https:graph.example.com",
    "https://graph.example.com?",
    "https://graph.example.com:99999",
    "graph.example.com",
    "",
    "ftp://graph.example.com",
  ])
    test(`42 refuses '${url}'`, () => {
      const result = made(url)
      ok(result._tag === "Failure")
      equal(result.failure.option, "graphUrl")
      doesNotMatch(result.failure.message, /p4ss/)
    })

  test("42 plain http needs a word", () => equal(made("http://graph.example.com", "v25.0", true)._tag, "Success"))

  for (const version of ["25.0", "v25", "v25.0/..", "", "V25.0", " v25.0", "v25.0\n"])
    test(`40 refuses version '${version}'`, () => {
      const result = made("https://graph.example.com", version)
      ok(result._tag === "Failure")
      equal(result.failure.option, "apiVersion")
    })
})

describe("secrets in addresses and texts", () => {
  const url = "https://s3.example.com/k.jpg?X-Amz-Credential=AKIA&X-Amz-Signature=ab%2Bcdef&id=9"

  test("masks signatures and keeps the rest", () => {
    equal(maskUrl(url), "https://s3.example.com/k.jpg?X-Amz-Credential=<redacted>&X-Amz-Signature=<redacted>&id=9")
    deepEqual(secretsInUrl(url), ["AKIA", "ab%2Bcdef"])
    deepEqual(secretsInUrl("https://cdn.example.com/a.jpg"), [])
    equal(maskUrl("https://x.example/a%20b?q='*~%20+&sig=1&&n"), "https://x.example/a%20b?q='*~%20+&sig=<redacted>&&n")
  })

  test("masks long credentials under unknown names", () => {
    deepEqual(secretsInUrl("https://x.example/a?k=A1b2C3d4E5f6G7h8I9j0K1l2"), ["A1b2C3d4E5f6G7h8I9j0K1l2"])
  })

  test("knows a file that was signed anew, and never takes two for one", () => {
    equal(fileIdentity(url), fileIdentity(url.replace("cdef", "0000")))
    ok(fileIdentity(`${url}&key=1`) !== fileIdentity(`${url}&key=2`))
  })

  test("92 removes the query of an address, where any name may carry a signature", () => {
    const scrub = makeScrub([])
    const texts = [
      "cannot fetch https://cdn.example.com/a?x=S3CR3T today",
      "cannot fetch https%3A%2F%2Fcdn.example.com%2Fa%3Fx%3DS3CR3T today",
    ]
    for (const text of texts) doesNotMatch(scrub(text), /S3CR3T/, text)
    equal(scrub("Malformed access token"), "Malformed access token")
  })

  test("70 cuts a huge text without leaving half a secret, and soon", () => {
    const secret = "A1b2C3d4E5f6G7h8I9j0K1l2"
    for (let shift = 0; shift < 30; shift++) {
      const text = `https://x.example/?${"q".repeat(3_950 + shift)} ${secret} ${"http://".repeat(100_000)}`
      doesNotMatch(makeScrub([secret])(text), /A1b2/)
    }
  })

  test("keeps at most 200 characters on one line", () => {
    const text = makeScrub([])(`a\n${"x".repeat(999)}`)
    equal(text.length, 200)
    doesNotMatch(text, /\n/)
  })
})
