// The container image, built from nothing but the executable, and the files that deploy it: each judged by the program that
// reads it, and run where that program can run it here.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { join } from "node:path"
import { executable } from "../support/executable.ts"
import { ownDatabase } from "../support/mongo_database.ts"
import { openCreate, refusesConnections } from "../support/open_create.ts"
import { COMPOSE, DOCKER, MONGODB, realSuite } from "../support/real_servers.ts"
import { callerHeaders, serveEnvironment } from "../support/service_process.ts"

const ROOT = join(import.meta.dir, "../..")
const IMAGE = `portolan-test:${process.pid}`
const BUILD_MS = 300_000
/** Seconds that an engine gives a container between SIGTERM and SIGKILL. */
const STOP_S = "60"

const run = async (command: ReadonlyArray<string>, environment: Readonly<Record<string, string>> = {}) => {
  const child = Bun.spawn([...command], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...environment },
  })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, stdout: stdout.trim(), stderr: stderr.trim() }
}

realSuite(DOCKER, "the container image", (docker) => {
  const words = async (...command: ReadonlyArray<string>): Promise<string> => {
    const { code, stdout, stderr } = await run([docker, ...command])
    if (code !== 0) throw new Error(`docker ${command.join(" ")}: ${stderr}`)
    return stdout
  }
  const containers: Array<string> = []

  /** A container that may write nothing but its volume, and has no right beyond an ordinary process's. */
  const start = async (options: ReadonlyArray<string>, environment: Readonly<Record<string, string>>) => {
    const hardened = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    const variables = Object.entries(environment).flatMap(([name, value]) => ["--env", `${name}=${value}`])
    const id = await words("run", "--detach", ...hardened, ...options, ...variables, IMAGE)
    containers.push(id)
    return id
  }

  const until = async <A>(look: () => Promise<A | undefined>): Promise<A> => {
    for (;;) {
      const found = await look()
      if (found !== undefined) return found
      await Bun.sleep(50)
    }
  }

  const logOf = async (id: string): Promise<string> => {
    const { stdout, stderr } = await run([docker, "logs", id])
    return stdout + stderr
  }

  /** The first match in what a container wrote; fails when it ends without. */
  const shows = (id: string, pattern: RegExp): Promise<RegExpExecArray> =>
    until(async () => {
      const running = (await words("inspect", "--format", "{{.State.Running}}", id)) === "true"
      const log = await logOf(id)
      const match = pattern.exec(log)
      if (match === null && !running) throw new Error(`the container ended without showing ${pattern}:\n${log}`)
      return match ?? undefined
    })

  /** Address of a container whose port is published. */
  const published = async (id: string): Promise<string> => {
    await shows(id, /"Listening"/)
    return `http://${(await words("port", id, "8080")).split("\n")[0]}`
  }

  const list = async (address: string) =>
    ((await (await fetch(`${address}/api/products`, { headers: callerHeaders() })).json()) as { data: unknown }).data

  const exitCodeOf = async (id: string) => Number(await words("inspect", "--format", "{{.State.ExitCode}}", id))

  beforeAll(async () => {
    const program = await executable()
    const built = await run([process.execPath, "bootstrap/build_image.ts", IMAGE, program])
    expect(built).toMatchObject({ code: 0, stdout: IMAGE })
  }, BUILD_MS)

  afterAll(async () => {
    for (const id of containers) await run([docker, "rm", "--force", "--volumes", id])
    await run([docker, "volume", "rm", "--force", `portolan-test-${process.pid}`])
    await run([docker, "rmi", "--force", IMAGE])
  })

  test("holds the executable, the libraries it is linked with, and nothing else", async () => {
    const id = await words("create", IMAGE)
    containers.push(id)
    const listing = await run(["sh", "-c", `${docker} export ${id} | tar -t`])
    const made = /^(\.dockerenv|dev\/.*|proc\/|sys\/|etc\/.*|data\/)$/
    const files = listing.stdout.split("\n").filter((path) => !path.endsWith("/") && !made.test(path))
    expect(files.filter((path) => !/^(usr\/)?lib(64)?\/.*\.so\.\d+$/.test(path))).toEqual(["portolan"])
    expect(files.length).toBeLessThan(10)
    expect(await words("inspect", "--format", "{{.Config.User}}", IMAGE)).toBe("65532:65532")
  })

  test("serves on a read-only file system, says that it is healthy, drains at its end, and keeps its records", async () => {
    const options = [
      ...["--publish", "127.0.0.1::8080", "--volume", `portolan-test-${process.pid}:/data`],
      ...["--health-interval", "1s"],
    ]
    const first = await start(options, serveEnvironment())
    const address = await published(first)
    const health = () => words("inspect", "--format", "{{.State.Health.Status}}", first)
    await until(async () => ((await health()) === "healthy" ? true : undefined))
    expect((await fetch(`${address}/openapi/swagger-ui-bundle.js`)).status).toBe(200)

    const held = await openCreate(address)
    const stopped = words("stop", "--time", STOP_S, first)
    await shows(first, /"Stopping","signal":"SIGTERM"/)
    expect(await held.finish()).toEqual([100, 201])
    await stopped
    expect(await refusesConnections(address)).toBe(true)
    expect([await exitCodeOf(first), (await logOf(first)).split("\n").at(-1)]).toEqual([
      0,
      expect.stringContaining('"Stopped"'),
    ])

    const second = await start(options, serveEnvironment())
    expect(await list(await published(second))).toEqual([{ id: 1, name: "a", price: 0 }])
  })

  test("is not healthy while the realm's keys are away", async () => {
    const id = await start(["--health-interval", "1s", "--health-retries", "1", "--health-start-period", "0s"], {
      AUTH_JWKS_URL: "http://127.0.0.1:1/certs",
      STORE: "memory",
    })
    const last = () => words("inspect", "--format", "{{.State.Health.Status}} {{json .State.Health.Log}}", id)
    const said = await until(async () => {
      const text = await last()
      return text.startsWith("unhealthy") ? text : undefined
    })
    expect(said).toContain("http://127.0.0.1:8080/health/ready is not ready: ")
  })

  test("a wrong configuration ends it with 2 and the variable's name", async () => {
    const { code, stderr } = await run([docker, "run", "--rm", "--env", "STORE=paper", IMAGE])
    expect([code, stderr]).toEqual([2, expect.stringContaining("STORE must be one of")])
  })

  realSuite(MONGODB, "the container image with MongoDB", (server) => {
    ownDatabase(server, "image")

    test("writes to it and reads from it", async () => {
      const id = await start(["--network", "host"], {
        ...serveEnvironment(),
        HOST: "127.0.0.1",
        PORT: "0",
        STORE: "mongo",
        MONGODB_URL: server.database(`portolan_image_${process.pid}`),
        ...(server.atomicUpdates ? {} : { MONGODB_SINGLE_WRITER: "true" }),
      })
      const [, address = ""] = await shows(id, /"Listening","url":"([^"]+)"/)
      const body = JSON.stringify({ name: "Anchor chain", price: 12.5 })
      const made = await fetch(`${address}/api/products`, { method: "POST", headers: callerHeaders(), body })
      expect(made.status).toBe(201)
      expect(await list(address)).toEqual([{ id: 1, name: "Anchor chain", price: 12.5 }])
      await words("stop", "--time", STOP_S, id)
      expect(await exitCodeOf(id)).toBe(0)
    })
  })
})

realSuite(COMPOSE, "the compose file", ({ command }) => {
  const config = (environment: Readonly<Record<string, string>>) =>
    run(["sh", "-c", `${command} --file bootstrap/deploy/compose.yaml config`], environment)
  const SECRETS = { MONGODB_PASSWORD: "mongo1", KEYCLOAK_PASSWORD: "keycloak1", IDP_CLIENT_SECRET: "client1" }

  test("is accepted, with the service locked in", async () => {
    const { code, stdout, stderr } = await config(SECRETS)
    expect([code, code === 0 ? "" : stderr]).toEqual([0, ""])
    expect(stdout).toContain("read_only: true")
    expect(stdout).toContain("mongodb://portolan:mongo1@mongodb:27017/portolan")
    // Nobody outside this machine reaches a port.
    for (const [, address] of stdout.matchAll(/^\s*- "?([\d.:]*\d+:\d+)(?:\/tcp)?"?$/gm))
      expect(address).toStartWith("127.0.0.1:")
  })

  test.each(Object.keys(SECRETS))("is refused without %s", async (name) => {
    const { code, stderr } = await config({ ...SECRETS, [name]: "" })
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining("must be set")])
  })
})
