// The service and its record store against a real server that speaks the MongoDB protocol.
import { afterAll, expect, test } from "bun:test"
import { Context, Effect, Layer, Redacted } from "effect"
import { MongoClient } from "mongodb"
import * as mongoConnection from "../../adapters/driven/mongo_connection.ts"
import * as mongoRecords from "../../adapters/driven/record_repository/mongo.ts"
import { readConfig } from "../../bootstrap/config.ts"
import { storeLayer } from "../../bootstrap/store.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { startCountingProxy } from "../support/counting_proxy.ts"
import { KILLABLE_MONGODB, MONGODB, type MongoServer, realSuite } from "../support/real_servers.ts"
import { startRepository } from "../support/repository_process.ts"
import { callerHeaders, endProcesses, runProcess, serve, serveEnvironment, stop } from "../support/service_process.ts"

const SUITE_MS = 30_000

const DATABASE = `portolan_real_${process.pid}`

const dropAfterwards = (server: MongoServer, database: string): void => {
  afterAll(async () => {
    const client = new MongoClient(server.database(database))
    await client.db().dropDatabase()
    await client.close()
  })
}

const withDocuments = async <A>(url: string, work: (client: MongoClient) => Promise<A>): Promise<A> => {
  const client = await new MongoClient(url).connect()
  return work(client).finally(() => client.close())
}

const withRepository = <A>(
  layer: Layer.Layer<RecordRepository, StoreUnavailable>,
  work: (repository: RecordRepository["Service"]) => Effect.Effect<A, unknown>,
): Promise<A> =>
  Effect.runPromise(
    Effect.scoped(Effect.flatMap(Layer.build(layer), (context) => work(Context.get(context, RecordRepository)))),
  )

const until = async (holds: () => boolean, what: string): Promise<void> => {
  const deadline = performance.now() + SUITE_MS / 2
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`Waited in vain until ${what}`)
    await Bun.sleep(20)
  }
}

realSuite(MONGODB, "records in MongoDB", (server) => {
  dropAfterwards(server, DATABASE)
  const url = server.database(DATABASE)
  const unlimited = { maxOpenConnections: undefined, maxIdleConnections: undefined }
  const records = mongoRecords.layer({ singleWriter: !server.atomicUpdates })
  const layer = Layer.provide(records, mongoConnection.layer({ url: Redacted.make(url), ...unlimited }))

  test("64 creates at once in each of two processes give 128 distinct ids, and each sees the other's", async () => {
    const [one, other] = await Promise.all([startRepository(url, "shared"), startRepository(url, "shared")])
    const created = await Promise.all([one.ask("create 64"), other.ask("create 64")])
    const ids = (created as Array<Array<number>>).flat().toSorted((a, b) => a - b)
    expect(new Set(ids).size).toBe(128)
    for (const each of [one, other]) expect(await each.ask("list")).toEqual(ids)
    const [next] = (await one.ask("create 1")) as [number]
    expect(next).toBeGreaterThan(Math.max(...ids))
    expect(await other.ask(`has ${next}`)).toBe(true)
    expect(await Promise.all([one.end(), other.end()])).toEqual(["", ""])
  })

  test("ids go on beyond 2^31 and end at 2^53-1", () =>
    withRepository(layer, (repository) =>
      Effect.gen(function* () {
        yield* repository.create("high", {})
        const setLast = (last: number) =>
          Effect.promise(() =>
            withDocuments(url, (client) =>
              client
                .db()
                .collection<{ _id: string }>("portolan.sequences")
                .updateOne({ _id: "high" }, { $set: { last } }),
            ),
          )
        for (const last of [2 ** 31 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER - 1]) {
          yield* setLast(last)
          const { id } = yield* repository.create("high", {})
          expect(id).toBe(last + 1)
          expect((yield* repository.get("high", id)).id).toBe(id)
        }
        const refusal = yield* Effect.flip(repository.create("high", {}))
        expect(refusal).toMatchObject({ _tag: "StoreUnavailable", store: { database: DATABASE } })
        expect(yield* repository.count("high")).toBe(4)
      }),
    ))

  test("a sequence that lags behind its records, as after a restored backup, gives no id twice", () =>
    withRepository(layer, (repository) =>
      Effect.gen(function* () {
        for (let count = 0; count < 5; count++) yield* repository.create("restored", { count })
        yield* Effect.promise(() =>
          withDocuments(url, (client) => client.db().collection("portolan.sequences").deleteMany({})),
        )
        expect((yield* repository.create("restored", {})).id).toBe(6)
        expect(yield* repository.get("restored", 1)).toEqual({ id: 1, count: 0 })
      }),
    ))

  test("a wrong password: the service ends, naming user, host and database, and never a password", async () => {
    const right = /:([^:@/]+)@/.exec(url)?.[1] ?? ""
    const [, user = "", host = ""] = /\/\/([^:]+):[^@]+@([^/]+)\//.exec(url) ?? []
    const { code, stderr: log } = await runProcess(["serve"], {
      ...serveEnvironment(),
      STORE: "mongo",
      MONGODB_URL: url.replace(`:${right}@`, ":n0t-the-passw%40rd@"),
    })
    expect(code).toBe(1)
    expect(log).toContain(`user '${user}' at '${host}', database '${DATABASE}'`)
    expect(log).not.toMatch(/n0t-the|passw%40rd|passw@rd/)
    expect(log).not.toContain(right)
  })
})

realSuite(MONGODB, "the MongoDB connection pool", (server) => {
  const database = `${DATABASE}_pool`
  dropAfterwards(server, database)

  /** The server's address through a proxy that counts; the driver's one connection for monitoring counts too. */
  const proxied = async () => {
    const [, host = "", port = "27017"] =
      /(?:@|\/\/)([^@/:,]+)(?::(\d+))?(?=[/,])/.exec(server.database(database)) ?? []
    const proxy = await startCountingProxy({ host, port: Number(port) })
    const through = server.database(database).replace(/((?:@|\/\/))[^@/]+\//, `$1127.0.0.1:${proxy.port}/`)
    const url = `${through}${through.includes("?") ? "&" : "?"}directConnection=true&serverMonitoringMode=poll`
    return { proxy, url }
  }
  const MONITORING = 1
  const environment = (url: string) => ({ STORE: "mongo", MONGODB_URL: url, MONGODB_SINGLE_WRITER: "true" })

  const busy = (repository: RecordRepository["Service"]) =>
    Effect.all(
      Array.from({ length: 60 }, () => repository.list("c", { start: 0, limit: 100 })),
      { concurrency: "unbounded" },
    )

  const layerOf = (environment: Readonly<Record<string, string>>) =>
    Layer.unwrap(Effect.map(readConfig(environment), (config) => storeLayer(config)).pipe(Effect.orDie))

  test.each([
    ["3", 3],
    ["1", 1],
  ])("DB_MAX_OPEN_CONNS=%p keeps at most that many open under load", async (open, most) => {
    const { proxy, url } = await proxied()
    await withRepository(layerOf({ ...environment(url), DB_MAX_OPEN_CONNS: open }), busy)
    expect(proxy.most()).toBe(most + MONITORING)
    await proxy.stop()
  })

  test("empty keeps the driver's default, which is many", async () => {
    const { proxy, url } = await proxied()
    await withRepository(layerOf({ ...environment(url), DB_MAX_OPEN_CONNS: "", DB_MAX_IDLE_CONNS: "" }), busy)
    expect(proxy.most()).toBeGreaterThan(5 + MONITORING)
    await proxy.stop()
  })

  test("maxIdleConnections: what is idle is closed down to that many, and no further", async () => {
    const { proxy, url } = await proxied()
    const connection = mongoConnection.layer({
      url: Redacted.make(url),
      maxOpenConnections: 10,
      maxIdleConnections: 2,
      idleTimeoutMs: 100,
    })
    await withRepository(Layer.provide(mongoRecords.layer({ singleWriter: true }), connection), (repository) =>
      Effect.gen(function* () {
        yield* busy(repository)
        expect(proxy.most()).toBeGreaterThan(5 + MONITORING)
        // Those kept are replaced when they have been idle, so the number is met again and again, not without a break.
        for (let round = 0; round < 3; round++) {
          yield* Effect.promise(() => until(() => proxy.open() === 2 + MONITORING, "two connections were left"))
          yield* Effect.sleep(150)
        }
      }),
    )
    await until(() => proxy.open() === 0, "all connections were closed")
    await proxy.stop()
  })
})

realSuite(KILLABLE_MONGODB, "the service while MongoDB is killed and started again", (server) => {
  const database = `${DATABASE}_killed`
  dropAfterwards(server, database)
  type Service = Awaited<ReturnType<typeof serve>>
  afterAll(endProcesses)
  const send = ({ address }: Service, path: string, init: RequestInit = {}) =>
    fetch(`${address}${path}`, { ...init, headers: callerHeaders() })

  interface Acknowledged {
    readonly id: number
    readonly name: string
  }

  /** Creates without a pause until told to stop. */
  const load = (service: Service, label: string) => {
    const acknowledged: Array<Acknowledged> = []
    const refusals: Array<{ readonly status: number; readonly retryAfter: string | null; readonly body: string }> = []
    let going = true
    const flow = async (lane: number) => {
      for (let turn = 0; going; turn++) {
        const name = `${label} ${lane} ${turn}`
        const answer = await send(service, "/api/products", { method: "POST", body: JSON.stringify({ name }) })
        const body = await answer.text()
        if (answer.status === 201) acknowledged.push({ id: JSON.parse(body).data.id, name })
        else refusals.push({ status: answer.status, retryAfter: answer.headers.get("retry-after"), body })
      }
    }
    const lanes = Promise.all(Array.from({ length: 4 }, (_, lane) => flow(lane)))
    const stop = async () => {
      going = false
      await lanes
    }
    return { acknowledged, refusals, stop }
  }

  const everything = async (service: Service): Promise<ReadonlyArray<Acknowledged>> => {
    const records: Array<Acknowledged> = []
    for (;;) {
      const answer = await send(service, `/api/products?start=${records.length}&limit=1000`)
      const { data } = (await answer.json()) as { data: ReadonlyArray<Acknowledged> }
      if (data.length === 0) return records
      records.push(...data)
    }
  }

  test("503 with Retry-After meanwhile, then on without a restart; no acknowledged record lost, no id twice", async () => {
    const environment = {
      STORE: "mongo",
      MONGODB_URL: server.database(database),
      // Two services are no single writer; while nothing is deleted, the unique _id keeps their ids apart all the same.
      MONGODB_SINGLE_WRITER: String(!server.atomicUpdates),
    }
    const services = [await serve(environment), await serve(environment)]
    const loads = services.map((service, at) => load(service, `service ${at}`))
    await until(() => loads.every(({ acknowledged }) => acknowledged.length > 50), "both services took records")

    await server.kill()
    try {
      await until(() => loads.every(({ refusals }) => refusals.length > 0), "both services refused records")
      for (const service of services) {
        expect((await send(service, "/health/ready")).status).toBe(503)
        expect((await send(service, "/health/live")).status).toBe(200)
      }
    } finally {
      await server.start()
    }
    const before = loads.map(({ acknowledged }) => acknowledged.length)
    await until(
      () => loads.every(({ acknowledged }, at) => acknowledged.length > (before[at] ?? 0) + 50),
      "both services took records again",
    )
    await Promise.all(loads.map((each) => each.stop()))
    // What readiness found out holds for a second.
    for (const service of services) while ((await send(service, "/health/ready")).status !== 200) await Bun.sleep(50)

    for (const { status, retryAfter, body } of loads.flatMap(({ refusals }) => refusals)) {
      expect(status).toBe(503)
      expect(Number(retryAfter)).toBeGreaterThan(0)
      expect(body).not.toMatch(/mongo|127\.0\.0\.1|portolan_real/i)
    }
    const acknowledged = loads.flatMap((each) => each.acknowledged)
    expect(new Set(acknowledged.map(({ id }) => id)).size).toBe(acknowledged.length)
    for (const service of services) {
      const kept = new Map((await everything(service)).map(({ id, name }) => [id, name]))
      expect(acknowledged.filter(({ id, name }) => kept.get(id) !== name)).toEqual([])
    }

    expect(await Promise.all(services.map(stop))).toEqual([0, 0])
    const password = /:([^:@/]+)@/.exec(server.url)?.[1] ?? ""
    for (const service of services) {
      expect(service.stderr()).toMatch(
        new RegExp(`Cannot use the store as user '[^']+' at '[^']+', database '${database}'`),
      )
      expect(service.stderr()).not.toContain(password)
    }
  })
})
