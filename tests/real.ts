// `bun run check:real [server...]`: the suites that meet a real server, and only those. Where a server's variable is not
// set, Docker starts it once for all suites; without either its suites are skipped, or fail under REQUIRE_REAL=1.
import { readFileSync } from "node:fs"
import { Glob } from "bun"
import {
  ACTIONLINT,
  CHROMIUM,
  COMPOSE,
  DOCKER,
  type Environment,
  KEYCLOAK,
  MONGODB,
  NGINX,
  NOMAD,
  OAUTH2_PROXY,
  SCHEMATHESIS,
  withCommand,
} from "./support/real_servers.ts"
import { runTests } from "./support/test_run.ts"

const SERVERS = [MONGODB, KEYCLOAK, NOMAD, CHROMIUM, COMPOSE, DOCKER, NGINX, OAUTH2_PROXY, SCHEMATHESIS, ACTIONLINT]
const print = (line: string) => process.stdout.write(`${line}\n`)

const asked = process.argv.slice(2).map((name) => name.toLowerCase())
const chosen = SERVERS.filter((server) => asked.length === 0 || asked.includes(server.name.toLowerCase()))
if (asked.length > 0 && chosen.length !== asked.length) {
  print(`Unknown server; the ring knows ${SERVERS.map((server) => server.name.toLowerCase()).join(", ")}`)
  process.exit(2)
}

/** A suite joins the ring by importing its server from real_servers.ts. */
const suites = [...new Glob("tests/**/*.test.ts").scanSync(".")].sort().filter((path) => {
  const imported =
    /import \{([^}]*)\} from "[./]*support\/real_servers\.ts"/.exec(readFileSync(path, "utf8"))?.[1] ?? ""
  return chosen.some(({ name }) => new RegExp(`\\b(KILLABLE_)?${name.toUpperCase()}\\b`).test(imported))
})

const started: Array<() => Promise<unknown>> = []
const stopAll = async (): Promise<void> => {
  await Promise.allSettled(started.splice(0).map((stop) => stop()))
}
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void stopAll().finally(() => process.exit(130)))

let environment: Environment = process.env
for (const server of chosen) {
  const [variable] = server.variables
  if (environment[variable]) {
    print(`${server.name}: from ${variable}`)
    continue
  }
  if (server.command !== undefined) {
    const found = withCommand(server, environment)[variable]
    print(`${server.name}: ${found ?? `none: set ${variable}, or put ${server.command.name} on the PATH`}`)
    continue
  }
  const startedAt = performance.now()
  print(`${server.name}: ${variable} is not set, asking Docker...`)
  try {
    const { startContainer } = await import("./support/real_containers.ts")
    const { variables, stop } = await startContainer(variable, environment)
    started.push(stop)
    environment = { ...environment, ...variables }
    print(`${server.name}: a container, ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  } catch (error) {
    print(`${server.name}: none: ${error instanceof Error ? error.message : String(error)}`)
  }
}

try {
  process.exitCode = (await runTests(
    suites.map((path) => `./${path}`),
    environment,
  ))
    ? 0
    : 1
} finally {
  await stopAll()
}
