// What the scheduler client adds to a bare `fetch` and `JSON.parse`: bun run bench:scheduler
// The server is a process of its own, so that its work is not ours. Bounds: 1.3 times at 2 kB, 2 times at 3 MB.
import { createScheduler } from "../../bootstrap/scheduler.ts"
import { median } from "./load.ts"

const allocation = (index: number) => ({
  ID: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
  JobID: `job-${index}`,
  TaskGroup: "restreamer",
  CreateTime: "@1795257571681040810",
  TaskStates: {
    t: { Events: Array.from({ length: 3 }, (_, event) => ({ Type: "Started", Time: `@179525757168${event}948633` })) },
  },
  Job: {
    ID: `job-${index}`,
    SubmitTime: "@1795257571680152923",
    TaskGroups: [
      {
        Name: "restreamer",
        Text: "x".repeat(300),
        Config: Object.fromEntries(Array.from({ length: 40 }, (_, key) => [`key_${key}`, `value ${key}`])),
      },
    ],
  },
})
/** Big integers, which JavaScript could not write. */
const text = (value: unknown): string => JSON.stringify(value).replace(/"@(\d+)"/g, "$1")

const SMALL = text({ ...allocation(1), ID: "j", Name: "j", Meta: { note: "x".repeat(500) } })
const LARGE = text(
  Array.from({ length: Math.round(3_000_000 / text(allocation(1)).length) }, (_, index) => allocation(index)),
)

if (process.argv[2] === "serve") {
  const json = { headers: { "content-type": "application/json" } }
  const server = Bun.serve({
    port: 0,
    fetch: ({ url }) => new Response(url.includes("/node/") ? LARGE : SMALL, json),
  })
  process.stdout.write(`${server.url.href}\n`)
} else {
  const child = Bun.spawn([process.execPath, import.meta.path, "serve"], { stdio: ["ignore", "pipe", "inherit"] })
  const { value } = await child.stdout.getReader().read()
  const url = new TextDecoder().decode(value).trim().replace(/\/$/, "")
  const token = "t"
  const scheduler = createScheduler({ baseUrl: url, token })
  // The same request: an agent with access control answers none without a token.
  const bare = async (path: string) =>
    JSON.parse(await (await fetch(url + path, { headers: { "x-nomad-token": token } })).text()) as unknown

  const cases = [
    {
      name: `${SMALL.length} B definition`,
      rounds: 1000,
      bare: () => bare("/v1/job/j?region="),
      ours: () => scheduler.getDefinition("j"),
    },
    {
      name: `${(LARGE.length / 1e6).toFixed(1)} MB allocation list`,
      rounds: 12,
      bare: () => bare("/v1/node/n/allocations?region="),
      ours: () => scheduler.getAllocations("n"),
    },
  ]
  const time = async (rounds: number, call: () => Promise<unknown>): Promise<number> => {
    const began = performance.now()
    for (let round = 0; round < rounds; round++) await call()
    return (performance.now() - began) / rounds
  }
  for (const { name, rounds, bare, ours } of cases) {
    const pairs: Array<readonly [bare: number, ours: number]> = []
    // Compiled code is compared, not the compiler at work.
    for (const call of [bare, ours]) await time(5 * rounds, call)
    // In turns, so that whatever else the machine does falls on both.
    for (let turn = 0; turn < 15; turn++) pairs.push([await time(rounds, bare), await time(rounds, ours)])
    const of = (which: 0 | 1) => median(pairs.map((pair) => pair[which])).toFixed(3)
    const ratio = median(pairs.map(([theirs, ours]) => ours / theirs)).toFixed(2)
    process.stdout.write(`${name}: bare ${of(0)} ms, client ${of(1)} ms, ${ratio} times\n`)
  }
  await scheduler.close()
  child.kill()
  await child.exited
}
