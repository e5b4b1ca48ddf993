// The media routes over a socket; the graph behind them is the model, so that what reached it can be counted.
import { afterAll, beforeEach, describe, expect, test } from "bun:test"
import { mediaRoutes } from "../../adapters/driving/http/media_routes.ts"
import { dataOf as envelopeData } from "../support/data_of.ts"
import { expectProblem } from "../support/expect_problem.ts"
import { ACCOUNT, failFirst, graphError, image, makeMediaWorld, video } from "../support/media_world.ts"
import { startService, type TestService } from "../support/test_service.ts"

let world = makeMediaWorld()
const services = new Set<TestService>()

const start = async (accountId: string | undefined = ACCOUNT): Promise<TestService> => {
  const service = await startService({
    extend: (_setups, { guard, responder }) => [
      mediaRoutes({ services: world.services, guard, responder, roles: ["publisher"], accountId }),
    ],
  })
  services.add(service)
  return service
}
let service: TestService
beforeEach(async () => {
  world = makeMediaWorld({ processingMs: 0 })
  service = await start()
})
afterAll(() => Promise.all([...services].map((each) => each.stop())))

const asPublisher = (init: RequestInit = {}): RequestInit => ({
  ...init,
  headers: { authorization: `Bearer ${service.token("publisher")}`, ...init.headers },
})
const get = (path: string) => service.send(path, asPublisher())
const post = (path: string, body?: unknown) =>
  service.send(
    path,
    asPublisher({
      method: "POST",
      ...(body === undefined
        ? {}
        : {
            body: typeof body === "string" ? body : JSON.stringify(body),
            headers: { "content-type": "application/json" },
          }),
    }),
  )
const dataOf = (response: Response) => envelopeData<Record<string, unknown>>(response)

const imageBody = { kind: "image", imageUrl: "https://cdn.example.com/a.jpg" }

const ROUTES: ReadonlyArray<readonly [method: string, path: string]> = [
  ["POST", "/media/containers"],
  ["POST", "/media/carousels"],
  ["POST", "/media/posts"],
  ["GET", "/media/containers/1"],
  ["POST", "/media/containers/1/publish"],
  ["GET", "/media/limit"],
  ["GET", "/media/none"],
  ["DELETE", "/media/containers"],
]

describe("who may use the media routes", () => {
  for (const [method, path] of ROUTES)
    test(`${method} ${path} needs a token, and a role`, async () => {
      const init = { method, ...(method === "POST" ? { body: "{not json" } : {}) }
      await expectProblem(await service.send(path, { ...init, headers: { authorization: "" } }), 401, "UNAUTHENTICATED")
      await expectProblem(await service.send(path, init), 403, "FORBIDDEN")
      expect(world.calls()).toBe(0)
    })

  test("a publisher meets 404 and 405 where nothing is", async () => {
    await expectProblem(await get("/media/none"), 404, "ROUTE_NOT_FOUND")
    const response = await service.send("/media/limit", asPublisher({ method: "DELETE" }))
    expect(response.headers.get("allow")).toBe("GET, HEAD")
    await expectProblem(response, 405, "METHOD_NOT_ALLOWED")
  })
})

describe("POST /media/containers", () => {
  for (const body of [
    imageBody,
    { kind: "video", videoUrl: "https://cdn.example.com/v.mp4", isCarouselItem: true },
    { kind: "reel", videoUrl: "https://cdn.example.com/r.mp4", shareToFeed: false },
  ])
    test(`creates ${body.kind}, 201 with Location`, async () => {
      const response = await post("/media/containers", body)
      expect(response.status).toBe(201)
      const data = await dataOf(response)
      expect(data).toMatchObject({ containerId: "17900000000000001", kind: body.kind, warnings: [] })
      expect(response.headers.get("location")).toBe("/media/containers/17900000000000001")
      expect(world.model.containers.get("17900000000000001")?.accountId).toBe(ACCOUNT)
    })

  test("takes another account from the body", async () => {
    await post("/media/containers", { ...imageBody, accountId: "42" })
    expect(world.model.calls[0]?.subject).toBe("42")
  })

  const REFUSED: ReadonlyArray<readonly [name: string, body: unknown, pointer: string]> = [
    [
      "a reel as item",
      { kind: "reel", videoUrl: "https://cdn.example.com/r.mp4", isCarouselItem: true },
      "/isCarouselItem",
    ],
    ["an account that climbs", { ...imageBody, accountId: "../me" }, "/accountId"],
    ["an array", [imageBody], ""],
    ["an unknown field", { ...imageBody, access_token: "x" }, "/access_token"],
    ["a lone surrogate", '{"kind":"image","imageUrl":"https://cdn.example.com/a","caption":"\\ud800"}', "/caption"],
  ]
  for (const [name, body, pointer] of REFUSED)
    test(`refuses ${name} with a pointer, and asks the graph nothing`, async () => {
      const problem = await expectProblem(await post("/media/containers", body), 422, "INVALID_MEDIA")
      expect(problem.errors?.map((each) => each.pointer)).toEqual([pointer])
      expect(world.calls()).toBe(0)
    })

  test("refuses a body that is no JSON", async () => {
    await expectProblem(await post("/media/containers", "{"), 400, "INVALID_JSON")
    await expectProblem(await post("/media/containers"), 415, "UNSUPPORTED_MEDIA_TYPE")
  })

  test("needs an account when none is configured", async () => {
    service = await startService({
      extend: (_setups, { guard, responder }) => [
        mediaRoutes({ services: world.services, guard, responder, roles: ["publisher"], accountId: undefined }),
      ],
    })
    services.add(service)
    const problem = await expectProblem(await post("/media/containers", imageBody), 422, "INVALID_MEDIA")
    expect(problem.errors?.[0]?.pointer).toBe("/accountId")
    await expectProblem(await get("/media/limit"), 422, "INVALID_MEDIA")
    expect((await get("/media/limit?accountId=7")).status).toBe(200)
  })

  test("maps what the graph says: refusals to 422 with its words, our token to 502 without", async () => {
    failFirst(world.model, "create", 1, graphError(400, 100, 2207028))
    expect(
      (await expectProblem(await post("/media/containers", imageBody), 422, "GRAPH_INVALID_INPUT")).detail,
    ).toMatch(/100\/2207028/)
    failFirst(world.model, "create", 1, graphError(400, 190, 463))
    const problem = await expectProblem(await post("/media/containers", imageBody), 502, "GRAPH_TOKEN_INVALID")
    expect(problem).toMatchObject({ graphCode: 190, graphSubcode: 463 })
    expect(problem.detail).not.toMatch(/no$/)
    expect(service.log()).toContain("code 190/463")
  })
})

describe("POST /media/carousels", () => {
  test("makes one of its items", async () => {
    const response = await post("/media/carousels", { caption: "trip", items: [image(1), video(2)] })
    expect(response.status).toBe(201)
    expect(await dataOf(response)).toMatchObject({
      state: "created",
      containerId: "17900000000000003",
      items: [{ index: 0 }, { index: 1 }],
    })
  })

  test("reports every unit when one fails, makes no parent, and takes the others again", async () => {
    world.model.setFault(({ parameters }) =>
      parameters["image_url"]?.endsWith("2.jpg")
        ? { kind: "answer", answer: graphError(400, 36003, 2207009) }
        : undefined,
    )
    const items = [image(1), image(2), image(3)]
    const problem = await expectProblem(await post("/media/carousels", { items }), 422, "CAROUSEL_INCOMPLETE")
    const { created, failed, skipped } = problem as unknown as {
      created: Array<{ index: number; containerId: string }>
      failed: Array<object>
      skipped: Array<number>
    }
    expect(created.map(({ index }) => index)).toEqual([0, 2])
    expect(failed).toMatchObject([{ index: 1, code: "GRAPH_MEDIA_REJECTED" }])
    expect(skipped).toEqual([])
    expect(world.model.containers.size).toBe(2)

    world.model.setFault(() => undefined)
    const again = items.map((item, index) => {
      const known = created.find((each) => each.index === index)
      return known === undefined ? item : { kind: "existing", containerId: known.containerId }
    })
    expect((await post("/media/carousels", { items: again })).status).toBe(201)
    expect(world.model.containers.size).toBe(4)
  })
})

describe("publishing", () => {
  test("publishes a container once, however often it is asked to", async () => {
    const { containerId } = await dataOf(await post("/media/containers", imageBody))
    const first = await post(`/media/containers/${containerId}/publish`)
    expect(first.status).toBe(200)
    const data = await dataOf(first)
    expect(data).toMatchObject({ state: "published", containerId })
    for (let time = 0; time < 3; time++)
      expect(await dataOf(await post(`/media/containers/${containerId}/publish`, {}))).toEqual(data)
    expect(world.model.posts).toHaveLength(1)
    expect(await dataOf(await get(`/media/containers/${containerId}`))).toEqual({ containerId, state: "published" })
  })

  test("refuses a video alone, and fields it does not know", async () => {
    for (const [body, pointer] of [
      [{ kind: "video" }, "/kind"],
      [{ kind: "story" }, "/kind"],
      [{ force: true }, "/force"],
    ] as const) {
      const problem = await expectProblem(await post("/media/containers/1/publish", body), 422, "INVALID_MEDIA")
      expect(problem.errors?.[0]?.pointer).toBe(pointer)
    }
    expect(world.calls()).toBe(0)
  })

  test("makes a post of a key once, and refuses a missing key", async () => {
    const first = await dataOf(await post("/media/posts", { key: "k", ...imageBody }))
    expect(first).toMatchObject({ state: "published", key: "k" })
    expect(await dataOf(await post("/media/posts", { key: "k", ...imageBody }))).toEqual(first)
    expect(world.model.posts).toHaveLength(1)
    const carousel = { key: "c", kind: "carousel", items: [image(1), video(2)] }
    expect(await dataOf(await post("/media/posts", carousel))).toMatchObject({ state: "published" })
    for (const key of [undefined, 7, "", "a b"]) {
      const problem = await expectProblem(await post("/media/posts", { ...imageBody, key }), 422, "INVALID_MEDIA")
      expect(problem.errors?.[0]?.pointer).toBe("/key")
    }
    expect(world.model.posts).toHaveLength(2)
  })

  test("says 429 when the quota is used up, with Retry-After", async () => {
    world = makeMediaWorld({ quotaTotal: 0 })
    service = await start()
    const { containerId } = await dataOf(await post("/media/containers", imageBody))
    const response = await post(`/media/containers/${containerId}/publish`)
    expect(response.headers.get("retry-after")).toBe("3600")
    await expectProblem(response, 429, "PUBLISH_QUOTA_EXHAUSTED")
    expect(world.calls("publish")).toBe(0)
  })

  test("tells the limit", async () => {
    expect(await dataOf(await get("/media/limit"))).toEqual({ used: 0, total: 50, periodS: 86_400 })
  })
})

test("the API page knows the media routes", async () => {
  const document = (await (await service.send("/openapi.json")).json()) as { paths: Record<string, object> }
  expect(
    Object.keys(document.paths)
      .filter((path) => path.startsWith("/media"))
      .sort(),
  ).toEqual([
    "/media/carousels",
    "/media/containers",
    "/media/containers/{id}",
    "/media/containers/{id}/publish",
    "/media/limit",
    "/media/posts",
  ])
})
