// What the Docker engine is made from, and what it refuses. No image is needed here; with one, tests/stack/real_gateway
// would be `portolan stack up --engine docker` and `portolan stack check`.
import { afterAll, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { parse } from "yaml"
import { type Line, routesOf, type Variant } from "../../domain/gateway/route_profile.ts"
import { STACK_DEFAULTS, type StackOptions } from "../../domain/gateway/stack_options.ts"
import { binaryTarget } from "../../stack/docker/docker_engine.ts"
import { dockerFiles } from "../../stack/docker/files.ts"
import { guardPlugin } from "../../stack/docker/guard.ts"
import { GATEWAY_ENVIRONMENT, WORKERS } from "../../stack/docker/images.ts"
import type { StackState } from "../../stack/state.ts"
import { runHere } from "../support/command_here.ts"
import { COMPOSE, realSuite } from "../support/real_servers.ts"
import { KEYS } from "../support/tokens.ts"

const folder = mkdtempSync(join(tmpdir(), "portolan-docker-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const SECRETS = {
  control: "c0ntr0l-word",
  userPassword: "us3r-word",
  webClient: "w3b-word",
  serviceClient: "s3rvice-word",
}

const stateOf = (options: Partial<StackOptions>): StackState => ({
  version: 1,
  phase: "starting",
  options: { ...STACK_DEFAULTS, engine: "docker", ...options },
  startedAt: 0,
  urls: { proxy: "http://127.0.0.1:8000", idp: "http://localhost:8180", upstream: "http://127.0.0.1:8900" },
  secrets: { ...SECRETS, signingKey: KEYS.realm().privateKey.export({ format: "jwk" }) as Record<string, unknown> },
  processes: [],
})

const COMBINATIONS: ReadonlyArray<readonly [Line, Variant, StackOptions["database"]]> = [
  ["2.8", "standard", "off"],
  ["2.8", "variant", "off"],
  ["2.8", "standard", "postgres"],
  ["2.8", "variant", "cassandra"],
  ["3.9", "standard", "off"],
]

interface KongRoute {
  readonly name: string
  readonly paths: ReadonlyArray<string>
  readonly plugins: ReadonlyArray<{
    readonly name: string
    readonly config: { readonly access?: ReadonlyArray<string> }
  }>
}

for (const [line, variant, database] of COMBINATIONS)
  describe(`gateway ${line} ${variant}, database ${database}`, () => {
    const state = stateOf({ gateway: line, variant, database })
    const files = dockerFiles(state)
    const document = (name: string): unknown => parse(files.get(name) ?? "")

    test("before every route stands the guard, with its Lua and this stack's addresses", () => {
      const { plugins } = document("kong.yml") as {
        plugins: ReadonlyArray<{ name: string; config: Record<string, ReadonlyArray<string>> }>
      }
      expect(plugins.map(({ name }) => name)).toEqual(["pre-function"])
      const [guard] = plugins
      expect(Object.keys(guard?.config ?? {})).toEqual(["rewrite", "access", "header_filter"])
      for (const [phase, [text = "", ...more]] of Object.entries(guard?.config ?? {})) {
        expect(more).toEqual([])
        expect(text).toStartWith(
          `local settings = {\n  socket = "${GATEWAY_ENVIRONMENT.KONG_PLUGINSERVER_GATE_SOCKET}",\n`,
        )
        expect(text).toContain('public_scheme = "http",\n  public_host = "127.0.0.1:8000",\n')
        expect(text).toEndWith(readFileSync(join(import.meta.dir, `../../stack/docker/guard/${phase}.lua`), "utf8"))
      }
    })

    test("every route asks the policies and then the sentinel", () => {
      const config = document("kong.yml") as {
        _format_version: string
        services: ReadonlyArray<{ routes: ReadonlyArray<KongRoute> }>
      }
      expect(config._format_version).toBe(line === "2.8" ? "2.1" : "3.0")
      const routes = config.services.flatMap((service) => service.routes)
      expect(routes.map(({ name }) => `/${name}`)).toEqual(routesOf(line, variant).map(({ prefix }) => prefix))
      for (const { paths, plugins, name } of routes) {
        expect(plugins.map((plugin) => plugin.name)).toEqual(["portolan-gate", "post-function"])
        expect(plugins[1]?.config.access?.[0]).toContain("kong.ctx.shared.gate ~= 'allow'")
        const pattern = new RegExp(`^${paths[0]?.replace(/^~/, "")}`)
        expect([`/${name}`, `/${name}/x`, `/${name}x`].map((path) => pattern.test(path))).toEqual([true, true, false])
        expect(paths[0]?.startsWith("~")).toBe(line === "3.9")
      }
    })

    test("compose starts what is needed, on the loopback interface alone", () => {
      const { services } = document("compose.yml") as {
        services: Record<
          string,
          {
            ports?: ReadonlyArray<string>
            depends_on?: object
            environment?: Record<string, string>
            build?: object
            platform?: string
          }
        >
      }
      expect(Object.keys(services).sort()).toEqual(
        ["gateway", "idp", "upstream", ...(database === "off" ? [] : ["database", "migrations"])].sort(),
      )
      for (const { ports = [] } of Object.values(services))
        for (const port of ports) expect(port).toStartWith("127.0.0.1:")
      expect(services["gateway"]?.environment?.["KONG_DATABASE"]).toBe(database)
      expect(services["gateway"]?.environment?.["KONG_ADMIN_LISTEN"]).toBe("127.0.0.1:8001")
      expect(services["gateway"]?.environment).not.toHaveProperty("KONG_TRUSTED_IPS")
      // Every container with our binary in it is of the system that the binary is built for.
      for (const [name, { build, platform }] of Object.entries(services))
        expect([name, platform]).toEqual([name, build !== undefined && line === "2.8" ? "linux/amd64" : undefined])
      expect(services["gateway"]?.environment).toMatchObject({
        KONG_NGINX_PROXY_LUA_SOCKET_READ_TIMEOUT: "5s",
        KONG_NGINX_WORKER_PROCESSES: String(WORKERS),
        // Lines of the plugin server are of this level.
        KONG_LOG_LEVEL: "info",
      })
      expect(Object.keys(services["gateway"]?.depends_on ?? {}).includes("migrations")).toBe(database !== "off")
    })

    test("no secret stands in what others are shown: compose, gateway configuration, image", () => {
      const shown = ["compose.yml", "kong.yml", "gateway.Dockerfile", "upstream.Dockerfile"]
        .map((name) => files.get(name))
        .join("\n")
      for (const word of Object.values(SECRETS)) expect(shown).not.toContain(word)
    })

    // Without a database the builds' documents differ in the image alone.
    if (line === "2.8" && database === "off") return
    realSuite(COMPOSE, "Docker's compose", ({ command }) => {
      test("takes the document", () => {
        const here = join(folder, `${line}-${variant}-${database}`)
        for (const [path, text] of files) {
          mkdirSync(dirname(join(here, path)), { recursive: true })
          writeFileSync(join(here, path), text)
        }
        const ran = Bun.spawnSync(["sh", "-c", `${command} -f compose.yml config`], { cwd: here })
        expect([ran.exitCode, ran.stderr.toString()]).toEqual([0, expect.any(String)])
        expect(parse(ran.stdout.toString())).toHaveProperty("services.gateway")
      })
    })
  })

test.each([
  ["amd64", "x64", "bun-linux-x64"],
  ["amd64", "arm64", "bun-linux-x64-baseline"],
  ["arm64", "arm64", "bun-linux-arm64"],
  ["arm64", "x64", "bun-linux-arm64"],
] as const)("the binary for %s containers, built on %s", (architecture, own, target) => {
  expect(binaryTarget(architecture, own)).toBe(target)
})

test("a text in the guard's settings cannot end its quotes", () => {
  const [text] = guardPlugin({ socket: 'a"\n]]\\', answerMs: 1, publicUrl: "https://h" }).config.rewrite
  expect(text).toContain('  socket = "a\\034\\010]]\\092",\n')
  expect(text).toContain('cookies = { ["__host-portolan_session"] = true, ["__host-portolan_login"] = true }')
})

test("the realm has what its provider needs to hand out tokens", () => {
  const realm = JSON.parse(dockerFiles(stateOf({})).get("realms/demo.json") ?? "") as {
    users: ReadonlyArray<Record<string, unknown>>
    clients: ReadonlyArray<Record<string, unknown>>
  }
  const [alice] = realm.users
  for (const field of ["email", "firstName", "lastName"]) expect(alice).toHaveProperty(field)
  expect(alice).toMatchObject({ emailVerified: true, credentials: [{ temporary: false, value: SECRETS.userPassword }] })
  expect(realm).not.toHaveProperty("clientScopes")
  const [web, service] = realm.clients
  expect(web).toMatchObject({
    clientId: "portolan-web",
    redirectUris: ["http://127.0.0.1:8000/oidc/cb"],
    directAccessGrantsEnabled: true,
  })
  expect(service).toMatchObject({ clientId: "portolan-service", serviceAccountsEnabled: true })
})

test("without Docker the docker engine is refused, and nothing is written or started", async () => {
  const home = join(folder, "home")
  mkdirSync(home)
  const words = "stack up --engine docker --proxy-port 0 --idp-port 0 --upstream-port 0".split(" ")
  const stderr =
    "refused: `docker version` does not answer: the docker engine needs it\nTry: portolan stack up --help\n"
  const ran = await runHere(words, { PATH: "/nowhere", PORTOLAN_HOME: home })
  expect(ran).toEqual({ code: 2, stdout: "", stderr })
  // The lock's file stays; the lock ended with the command.
  expect(readdirSync(home)).toEqual(["stack.lock"])
})
