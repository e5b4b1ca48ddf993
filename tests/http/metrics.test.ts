// The metrics of a service with all its areas, and the dashboard that shows them.
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import * as joseVerifier from "../../adapters/driven/token_verifier/jose.ts"
import { readConfig } from "../../bootstrap/config.ts"
import { demoGraphArea, demoSchedulerArea } from "../../bootstrap/demo_areas.ts"
import dashboard from "../../bootstrap/deploy/grafana.json" with { type: "json" }
import { METRIC_NAMES } from "../../bootstrap/metric_names.ts"
import { storeOf } from "../../bootstrap/store.ts"
import { watchedStore } from "../../bootstrap/watched_ports.ts"
import { PublishJournal } from "../../domain/media/publish_journal.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { RestartJournal } from "../../domain/scheduler/restart_journal.ts"
import { StoreUnavailable } from "../../domain/store_unavailable.ts"
import manifest from "../../package.json" with { type: "json" }
import { sharedService, startService } from "../support/test_service.ts"

/** A store that cannot count. */
const memory = storeOf("memory")
const uncounting = Layer.mergeAll(
  Layer.effect(
    RecordRepository,
    Effect.map(RecordRepository, (repository) => ({
      ...repository,
      count: () =>
        Effect.fail(new StoreUnavailable({ store: { user: "u", host: "h", database: "d" }, reason: "away" })),
    })),
  ),
  Layer.effect(RestartJournal, RestartJournal),
  Layer.effect(PublishJournal, PublishJournal),
).pipe(Layer.provide(memory))

const config = Effect.runSync(readConfig({}))
const service = await sharedService({
  repository: watchedStore(uncounting, "sqlite", false),
  areas: [demoSchedulerArea(config), demoGraphArea(config)],
})

// The series of one process are those of all its services: what another one counts is in the text as well.
const realmAway = await startService({ verifier: joseVerifier.layer({ jwksUrl: "http://127.0.0.1:1/certs" }) })
while (
  (await service.send("/metrics").then((answer) => answer.text())).includes("portolan_key_fetches_total") === false
)
  await Bun.sleep(10)
await realmAway.stop()

const staff = { authorization: `Bearer ${service.token("operator", "publisher")}` }
const post = { key: "one", kind: "image", imageUrl: "https://cdn.example.com/a.jpg" }
const headers = { ...staff, "content-type": "application/json" }
await service.send("/media/posts", { method: "POST", headers, body: JSON.stringify(post) })
await service.send("/scheduler/jobs/radio/restart?region=global", { method: "POST", headers: staff })
await service.create({ name: "a" })
await service.send("/api/products/99")
await service.send("/api/products", { headers: { prefer: "count=exact" } })

/** The value of a series, by the beginning of its line. */
const text = await (async () => {
  for (;;) {
    const now = await (await service.send("/metrics")).text()
    // The gauges are kept for a second.
    if (now.includes('portolan_restarts{state="pending"} 1')) return now
    await Bun.sleep(20)
  }
})()
const value = (series: string): number | undefined => {
  const line = text.split("\n").find((each) => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

describe("metrics", () => {
  test("say how many restarts and posts there are in which state", () => {
    expect(value('portolan_restarts{state="stuck"}')).toBe(0)
    expect(value('portolan_posts{state="published"}')).toBe(1)
    expect(value('portolan_posts{state="intended"}')).toBe(0)
  })

  test("say what runs and what it uses", () => {
    const build = `portolan_build_info{version="${manifest.version}",runtime="bun ${process.versions["bun"]}"}`
    expect(value(build)).toBe(1)
    expect(value('process_cpu_time_seconds_total{cpu_mode="user"}')).toBeGreaterThan(0.1)
    expect(value("process_memory_usage_bytes")).toBeGreaterThan(10_000_000)
    expect(value("process_uptime_seconds")).toBeGreaterThan(0)
  })

  test("time the store by operation; a record that is not there is no failure of the store", () => {
    const count = (labels: string) => value(`db_client_operation_duration_seconds_count{${labels}}`)
    const get = 'db_operation_name="get",db_system_name="sqlite"'
    expect(count(get)).toBe(1)
    expect(count('db_operation_name="count",db_system_name="sqlite",error_type="StoreUnavailable"')).toBe(1)
  })

  test("are all there under their names, each with one type and one meaning", () => {
    for (const name of Object.values(METRIC_NAMES)) {
      expect([name, text.split(`# TYPE ${name} `).length]).toEqual([name, 2])
      expect([name, text.split(`# HELP ${name} `).length]).toEqual([name, 2])
    }
  })
})

test("the operations page explains every metric", () => {
  const page = readFileSync(join(import.meta.dir, "../../bootstrap/README.md"), "utf8")
  const explained = [...page.matchAll(/^\| `((?:http|db|portolan|process)_\w+)` \|/gm)].map(([, name = ""]) => name)
  expect(explained.sort()).toEqual(Object.values(METRIC_NAMES).slice().sort())
})

describe("the dashboard", () => {
  const expressions = dashboard.panels.flatMap((panel) =>
    "targets" in panel ? (panel.targets ?? []).map(({ expr }) => expr) : [],
  )
  const words = (expression: string) => expression.match(/[a-z_]*(?:http|db|portolan|process)_[a-z_]+(?=[{[])/g) ?? []
  const used = expressions.flatMap(words)
  const base = (name: string) => name.replace(/_(?:bucket|count|sum)$/, "")
  const exposed = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = ""]) => name))

  test("asks for metrics that the service exports, and for all of them", () => {
    expect(expressions.length).toBeGreaterThan(10)
    for (const expression of expressions) expect([expression, words(expression).length]).toEqual([expression, 1])
    expect([...new Set(used.map(base))].sort()).toEqual(Object.values(METRIC_NAMES).slice().sort())
    expect(used.filter((name) => !exposed.has(base(name)))).toEqual([])
  })

  test("uses labels that the metrics have", () => {
    const given = new Set(["job", "instance", ...[...text.matchAll(/[{,](\w+)="/g)].map(([, label = ""]) => label)])
    for (const expression of expressions) {
      const grouped = [...expression.matchAll(/by \(([^)]+)\)/g)].flatMap(([, list = ""]) => list.split(", "))
      const selected = [...expression.matchAll(/[{,](\w+)(?:=~|!=|=)"/g)].map(([, label = ""]) => label)
      expect([expression, [...grouped, ...selected].filter((label) => !given.has(label))]).toEqual([expression, []])
    }
  })

  test("says of each panel what it means", () => {
    for (const panel of dashboard.panels)
      if (panel.type !== "row") expect([panel.title, panel.description?.endsWith(".")]).toEqual([panel.title, true])
  })
})
