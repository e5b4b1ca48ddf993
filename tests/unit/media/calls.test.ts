// Repeated calls, pacing and waiting, on virtual time.
import { deepEqual, equal, ok } from "node:assert/strict"
import { describe } from "node:test"
import { Clock, Effect, Redacted } from "effect"
import {
  containerStatus,
  createContainer,
  publishingLimit,
  requestAppToken,
} from "../../../application/media/containers.ts"
import { type Look, waitUntilReady } from "../../../application/media/wait_until_ready.ts"
import { GraphFailure } from "../../../domain/media/graph_failure.ts"
import { DEFAULT_MEDIA_RULES, MediaPolicy } from "../../../domain/media/policy.ts"
import type { Fault, ModelAnswer } from "../../support/graph_model.ts"
import { mediaTest, mediaTestWith } from "../../support/media_test.ts"
import { ACCOUNT, failFirst, graphError, IMAGE, type MediaWorld, unavailable } from "../../support/media_world.ts"

const REEL_FILE = { videoUrl: "https://cdn.example.com/r.mp4" }
const image = createContainer(ACCOUNT, { kind: "image", ...IMAGE })
const gaps = ({ model }: MediaWorld): ReadonlyArray<number> =>
  model.calls.slice(1).map(({ atMs }, at) => atMs - (model.calls[at]?.atMs ?? 0))
const took = <A, E, R>(program: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const startedAt = yield* Clock.currentTimeMillis
    const exit = yield* Effect.exit(program)
    return { exit, ms: (yield* Clock.currentTimeMillis) - startedAt }
  })
const patient = (pauseMaxMs: number) => Effect.provideService(MediaPolicy, { ...DEFAULT_MEDIA_RULES, pauseMaxMs })
const withHeaders = (answer: ModelAnswer, headers: Readonly<Record<string, string>>): ModelAnswer => ({
  ...answer,
  headers,
})

describe("a creation is repeated where that helps", () => {
  const repeated = (name: string, answer: ModelAnswer, least: number, most: number): void => {
    mediaTest(`${name}: three calls, one container`, function* (world) {
      failFirst(world.model, "create", 2, answer)
      yield* image
      equal(world.calls("create"), 3)
      equal(world.model.containers.size, 1)
      for (const gap of gaps(world)) ok(gap >= least && gap <= most, `${gap} ms`)
    })
  }
  repeated("63 503 with HTML", unavailable, 1_000, 4_000)
  repeated("54 the platform cannot fetch the file", graphError(400, 9004, 2207052), 5_000, 19_000)
  repeated("55 an unknown code that says it passes", graphError(400, 424242, 999, { is_transient: true }), 1_000, 4_000)
  repeated("58 429 with Retry-After", { status: 429, body: "", headers: { "retry-after": "2" } }, 2_000, 2_000)
  repeated("59 code 4 with 403", graphError(403, 4), 60_000, 300_000)

  mediaTest("W1 a lost answer leaves an orphan, and another container", function* (world) {
    const faults: Array<Fault> = [{ kind: "lose-answer" }]
    world.model.setFault(() => faults.shift())
    yield* image
    equal(world.model.containers.size, 2)
    equal(world.model.posts.length, 0)
  })

  mediaTest("63 gives up after three calls", function* (world) {
    failFirst(world.model, "create", 9, unavailable)
    const failure = yield* Effect.flip(image)
    ok(failure instanceof GraphFailure)
    equal(failure.kind, "ServerTransient")
    equal(world.calls(), 3)
  })

  for (const [code, subcode] of [
    [4, 2207051],
    [190, 463],
    [10, undefined],
    [424242, 999],
  ] as const) {
    mediaTest(`50-60 ${code}/${subcode} is not repeated`, function* (world) {
      failFirst(world.model, "create", 1, graphError(400, code, subcode))
      yield* Effect.flip(image)
      equal(world.calls(), 1)
    })
  }

  mediaTest("the app token: code 1 is a wrong secret, not repeated; blanks are not sent", function* (world) {
    const ask = (appId: string, secret: string) => requestAppToken({ appId, appSecret: Redacted.make(secret) })
    equal(Redacted.value(yield* ask("123", "s")), "123|model-app-token")
    failFirst(world.model, "app-token", 1, graphError(400, 1))
    yield* Effect.flip(ask("123", "wrong"))
    equal(world.calls(), 2)
    equal((yield* Effect.flip(ask("123", " ")))._tag, "InvalidMediaSetup")
    equal((yield* Effect.flip(ask("", "s")))._tag, "InvalidMediaSetup")
    equal(world.calls(), 2)
  })

  mediaTest("41 ids that cannot be a path segment are not sent", function* (world) {
    for (const id of ["1/2", "..", "a?b", "a#b", "%2e%2e", "", "a b"]) {
      equal((yield* Effect.flip(createContainer(id, { kind: "image", ...IMAGE })))._tag, "InvalidMedia")
      equal((yield* Effect.flip(containerStatus(id)))._tag, "InvalidMedia")
      equal((yield* Effect.flip(publishingLimit(id)))._tag, "InvalidMedia")
    }
    equal(world.calls(), 0)
    yield* createContainer("me", { kind: "image", ...IMAGE })
  })
})

describe("pacing from what the answers say", () => {
  mediaTest("59 makes no call before access is given back", function* (world) {
    const business = JSON.stringify({ "1": [{ call_count: 100, estimated_time_to_regain_access: 19 }] })
    failFirst(world.model, "create", 1, withHeaders(graphError(400, 80002), { "x-business-use-case-usage": business }))
    const { exit, ms } = yield* took(patient(3_600_000)(image))
    equal(exit._tag, "Success")
    equal(ms, 19 * 60_000)
  })

  mediaTest("59 gives the call back instead of a long pause, and sends nothing until it is over", function* (world) {
    const business = JSON.stringify({ "1": [{ call_count: 100, estimated_time_to_regain_access: 19 }] })
    failFirst(world.model, "create", 1, withHeaders(graphError(400, 80002), { "x-business-use-case-usage": business }))
    for (const calls of [1, 1]) {
      const { exit, ms } = yield* took(Effect.flip(image))
      equal(ms, 0)
      ok(exit._tag === "Success" && exit.value instanceof GraphFailure)
      equal(exit.value.kind, "Throttled")
      equal(exit.value.retryAfterMs, 19 * 60_000)
      equal(world.calls(), calls)
    }
    yield* createContainer("42", { kind: "image", ...IMAGE })
    equal(world.calls(), 2, "another account is free")
    yield* Effect.sleep("19 minutes")
    yield* image
    equal(world.calls(), 3)
  })

  mediaTest("slows down from 75 %, for every account of the app", function* (world) {
    world.model.setHeaders({ "x-app-usage": '{"call_count":81}' })
    yield* image
    yield* createContainer("42", { kind: "image", ...IMAGE })
    world.model.setHeaders({ "x-app-usage": '{"call_count":10}' })
    yield* image
    yield* image
    deepEqual(gaps(world), [2000, 2000, 0])
  })

  mediaTest("71 ignores headers that say nothing", function* (world) {
    for (const header of ["{", "null", '{"call_count":"99"}', "[]"]) {
      world.model.setHeaders({ "x-app-usage": header, "x-business-use-case-usage": header })
      yield* image
    }
    deepEqual(gaps(world), [0, 0, 0])
  })
})

describe("waitUntilReady()", () => {
  mediaTestWith({ processingMs: 100_000 }, "79, 80 looks with growing pauses until it is ready", function* (world) {
    const { containerId } = yield* createContainer(ACCOUNT, { kind: "reel", ...REEL_FILE })
    const looks: Array<Look> = []
    const result = yield* waitUntilReady(containerId, { onLook: (look) => Effect.sync(() => looks.push(look)) })
    equal(result.state, "ready")
    equal(looks.length, world.calls("status"))
    deepEqual(new Set(looks.slice(0, -1).map(({ state }) => state)), new Set(["in-progress"]))
    const pauses = gaps(world).slice(1)
    ok(pauses.every((pause) => pause <= 60_000))
    ok((pauses[0] ?? 0) >= 4_000 && (pauses[0] ?? 0) <= 5_000)
    ok(result.waitedMs >= 100_000 && result.waitedMs < 170_000)
  })

  mediaTestWith({ processingMs: 3_600_000 }, "80 ends with its budget, and no new container", function* (world) {
    const { containerId } = yield* createContainer(ACCOUNT, { kind: "reel", ...REEL_FILE })
    const { exit, ms } = yield* took(waitUntilReady(containerId))
    ok(exit._tag === "Success")
    equal(exit.value.state, "still-processing")
    ok(ms >= 300_000 && ms < 310_000, `${ms}`)
    equal(world.model.containers.size, 1)
    equal((yield* waitUntilReady(containerId, { waiting: { budgetMs: 0 } })).state, "still-processing")
    yield* Effect.sleep("1 hour")
    equal((yield* waitUntilReady(containerId)).state, "ready")
  })

  const cases = [
    [{ status_code: "ERROR", status: "Error: Media upload has failed with error code 2207082" }, "MediaRejected"],
    [{ status: "Error: 2207077" }, "MediaRejected"],
    [{ status_code: "EXPIRED" }, "ContainerGone"],
  ] as const
  for (const [forced, kind] of cases) {
    mediaTest(`79 fails on ${JSON.stringify(forced)}`, function* (world) {
      const { containerId } = yield* image
      world.model.force(containerId, forced)
      const failure = yield* Effect.flip(waitUntilReady(containerId))
      ok(failure instanceof GraphFailure)
      equal(failure.kind, kind)
      equal(world.calls("status"), 1)
    })
  }

  mediaTest("79 goes on waiting on a state nobody knows, and takes PUBLISHED for what it is", function* (world) {
    const { containerId } = yield* image
    world.model.force(containerId, { status_code: "QUEUED" })
    equal((yield* waitUntilReady(containerId)).state, "still-processing")
    world.model.force(containerId, { status_code: "PUBLISHED" })
    equal((yield* waitUntilReady(containerId)).state, "published")
  })

  mediaTest("79 100/33 is asked three times, then called unavailable, never a token problem", function* (world) {
    const failure = yield* Effect.flip(waitUntilReady("17999999999999999"))
    ok(failure instanceof GraphFailure)
    equal(failure.code, "GRAPH_STATUS_UNAVAILABLE")
    equal(world.calls("status"), 3)
  })
})
