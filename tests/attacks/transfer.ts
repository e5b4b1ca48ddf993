// A million records in and out by the command line: bun tests/attacks/transfer.ts [records]
// The import is killed half-way and run again. Prints times and the most memory of service and command. Exit 1 when a record
// is missing or there twice, or when a process had more memory late than early (by more than 64 MB).
import { createReadStream, createWriteStream } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { memoryOf } from "../support/process_figures.ts"
import {
  callerHeaders,
  endProcesses,
  newHome,
  type ServiceProcess,
  serve,
  startProcess,
} from "../support/service_process.ts"

const RECORDS = Number(process.argv[2] ?? 1_000_000)
const GROWTH_MAX_MB = 64
const MB = 2 ** 20

const print = (line: string) => process.stdout.write(`${line}\n`)

const nameOf = (record: number) => `Anchor chain ${record}`

const writeFile = async (path: string) => {
  const file = createWriteStream(path)
  for (let record = 1; record <= RECORDS; record++)
    if (!file.write(`{"name":"${nameOf(record)}","price":${record % 1000}}\n`))
      await new Promise((resolve) => file.once("drain", resolve))
  await new Promise((resolve) => file.end(resolve))
}

/** How often each name is in the file; a name that was never sent counts as wrong. */
const readFile = async (path: string) => {
  const seen = new Uint8Array(RECORDS + 1)
  let [lines, wrong] = [0, 0]
  for await (const line of createInterface({ input: createReadStream(path) })) {
    lines++
    const { name } = JSON.parse(line)
    const record = Number(String(name).slice("Anchor chain ".length))
    if (name !== nameOf(record) || record < 1 || record > RECORDS || seen[record] !== 0) wrong++
    else seen[record] = 1
  }
  return { lines, wrong }
}

/** The most memory of a process in the first and in the last third of the samples, MB. */
const thirds = (samples: ReadonlyArray<number>): readonly [number, number] => {
  const third = Math.max(1, Math.floor(samples.length / 3))
  const most = (part: ReadonlyArray<number>) => Math.round(Math.max(...part) / MB)
  return [most(samples.slice(0, third)), most(samples.slice(-third))]
}

let broken = false

/** Watches the command and the service until the command ends, or `enough` says so. */
const watch = async (what: string, command: ServiceProcess, servicePid: number, enough = () => false) => {
  const samples: Array<readonly [number, number]> = []
  const startedAt = performance.now()
  let code: number | undefined
  void command.ended.then((ended) => {
    code = ended
  })
  while (code === undefined && !enough()) {
    samples.push([memoryOf(command.pid), memoryOf(servicePid)])
    await Bun.sleep(200)
  }
  const seconds = (performance.now() - startedAt) / 1000
  // The first samples see a process that is still loading its code.
  const steady = samples.slice(Math.min(10, samples.length >> 1))
  const [own, service] = [thirds(steady.map(([each]) => each)), thirds(steady.map(([, each]) => each))]
  if (own[1] - own[0] > GROWTH_MAX_MB || service[1] - service[0] > GROWTH_MAX_MB) broken = true
  print(
    `${what}: ${seconds.toFixed(0)} s, command ${own.join(" and ")} MB in the first and last third, service ${service.join(" and ")} MB`,
  )
  return code
}

try {
  const service = await serve({ STORE: "sqlite" })
  const home = newHome()
  const [input, output] = [join(home, "in.ndjson"), join(home, "out.ndjson")]
  await writeFile(input)
  const environment = {
    RECORDS_URL: service.address,
    RECORDS_TOKEN: callerHeaders()["authorization"]?.slice("Bearer ".length) ?? "",
  }
  const count = async () => {
    const answer = await fetch(`${service.address}/api/products?limit=0`, {
      headers: { ...callerHeaders(), prefer: "count=exact" },
    })
    return Number(answer.headers.get("x-total-count"))
  }
  let imported = 0
  const half = setInterval(async () => {
    imported = await count()
  }, 200)
  const first = startProcess(["records", "import", "products", input], environment)
  await watch("import until it is killed", first, service.pid, () => imported > RECORDS / 2)
  clearInterval(half)
  first.signal("SIGKILL")
  await first.ended
  const second = startProcess(["records", "import", "products", input], environment)
  const importCode = await watch("import, taken up again", second, service.pid)
  const kept = await count()
  const exporting = startProcess(["records", "export", "products", "--output", output], environment)
  const exportCode = await watch("export", exporting, service.pid)
  const { lines, wrong } = await readFile(output)
  if (importCode !== 0 || exportCode !== 0 || kept !== RECORDS || lines !== RECORDS || wrong > 0) {
    broken = true
    print(second.stderr() + exporting.stderr())
  }
  print(
    `${broken ? "BROKEN" : "held  "}  ${RECORDS} records sent, ${kept} kept, ${lines} exported, ${wrong} wrong or twice`,
  )
  if (broken) process.exitCode = 1
} finally {
  await endProcesses()
}
