// The ring of real servers. A suite names the server it needs and gets it from the environment, where a person, `.ci/run`
// or `bun run check:real` (which asks Docker) has put it. Without one the suite is skipped by name, with the reason.
import { describe, test } from "bun:test"
import { existsSync } from "node:fs"

export type Environment = Readonly<Record<string, string | undefined>>

/** A server that suites may ask for, described by the variables that lead to it. */
export interface RealServer<A> {
  readonly name: string
  /** Variables that must all be set; the first one is the address. */
  readonly variables: readonly [address: string, ...more: ReadonlyArray<string>]
  /** How to find a server that is a command when no variable names it. */
  readonly command?: { readonly name: string; readonly find: (path: string) => string | undefined }
  /** Whether REQUIRE_REAL=1 turns a skip into a failure. */
  readonly required: boolean
  readonly read: (environment: Environment) => A
}

export interface MongoServer {
  readonly url: string
  /** The same server and user with another database in the address. */
  readonly database: (name: string) => string
  /** Whether of several conditional updates of one document only one can win, as MongoDB promises and FerretDB does not. */
  readonly atomicUpdates: boolean
}

/** Why a test is skipped on a server without them. */
export const NO_ATOMIC_UPDATES = "this server has no atomic updates (TEST_MONGODB_ATOMIC_UPDATES=false), MongoDB has"

export interface KillableMongoServer extends MongoServer {
  /** Ends the server at once, as a power cut would. */
  readonly kill: () => Promise<void>
  /** Starts the killed server again, at the same address and with its data, and waits until it answers. */
  readonly start: () => Promise<void>
}

export interface KeycloakServer {
  /** Without a trailing slash; the realm of tests/fixtures/keycloak/realm.json is in it. */
  readonly url: string
  readonly admin: { readonly username: string; readonly password: string }
}

export interface NomadServer {
  readonly url: string
}

export interface Chromium {
  readonly executablePath: string
}

export interface Nginx {
  /** Path of the command. */
  readonly command: string
  /** Folder of its modules; the one for Lua is there. */
  readonly modules: string
}

export interface Compose {
  /** For a shell. */
  readonly command: string
}

/** @param url one or more hosts; whoever logged in against its database, or `admin`, goes on doing so */
export const mongoDatabaseUrl = (url: string, name: string): string => {
  const [, scheme = "", credentials = "", hosts = "", database = "", query = ""] =
    /^(mongodb(?:\+srv)?:\/\/)([^@/?]*@)?([^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(url) ?? []
  if (hosts === "") throw new Error("TEST_MONGODB_URL is not a mongodb:// address")
  const needsSource = credentials !== "" && !/(^|&)authSource=/i.test(query)
  const options = [query, needsSource ? `authSource=${database || "admin"}` : ""]
    .filter((each) => each !== "")
    .join("&")
  return `${scheme}${credentials}${hosts}/${name}${options === "" ? "" : `?${options}`}`
}

const shell = (command: string) => async (): Promise<void> => {
  const run = Bun.spawn(["sh", "-c", command], { stdio: ["ignore", "ignore", "pipe"] })
  const complaint = await new Response(run.stderr).text()
  if ((await run.exited) !== 0) throw new Error(`${command}: ${complaint.trim()}`)
}

const mongo = (environment: Environment): MongoServer => {
  const url = environment["TEST_MONGODB_URL"] ?? ""
  return {
    url,
    database: (name) => mongoDatabaseUrl(url, name),
    atomicUpdates: environment["TEST_MONGODB_ATOMIC_UPDATES"] !== "false",
  }
}

export const MONGODB: RealServer<MongoServer> = {
  name: "MongoDB",
  variables: ["TEST_MONGODB_URL"],
  required: true,
  read: mongo,
}

const RESTART_MS = 30_000

const startedAgain = (command: string, url: string) => async (): Promise<void> => {
  await shell(command)()
  // Imported here, so that a run without a server does not load the driver.
  const { mongoAnswers } = await import("./mongo_answers.ts")
  await mongoAnswers(url, RESTART_MS)
}

/** The same server for suites that end it: two shell commands say how. */
export const KILLABLE_MONGODB: RealServer<KillableMongoServer> = {
  name: "MongoDB to kill",
  variables: ["TEST_MONGODB_URL", "TEST_MONGODB_KILL", "TEST_MONGODB_START"],
  required: true,
  read: (environment) => {
    const server = mongo(environment)
    return {
      ...server,
      kill: shell(environment["TEST_MONGODB_KILL"] ?? "false"),
      start: startedAgain(environment["TEST_MONGODB_START"] ?? "false", server.url),
    }
  },
}

export const KEYCLOAK: RealServer<KeycloakServer> = {
  name: "Keycloak",
  variables: ["TEST_KEYCLOAK_URL", "TEST_KEYCLOAK_ADMIN_PASSWORD"],
  required: true,
  read: (environment) => ({
    url: (environment["TEST_KEYCLOAK_URL"] ?? "").replace(/\/+$/, ""),
    admin: {
      username: environment["TEST_KEYCLOAK_ADMIN"] || "admin",
      password: environment["TEST_KEYCLOAK_ADMIN_PASSWORD"] ?? "",
    },
  }),
}

export const NOMAD: RealServer<NomadServer> = {
  name: "Nomad",
  variables: ["TEST_NOMAD_ADDR"],
  required: false,
  read: (environment) => ({ url: (environment["TEST_NOMAD_ADDR"] ?? "").replace(/\/+$/, "") }),
}

export const CHROMIUM: RealServer<Chromium> = {
  name: "Chromium",
  variables: ["TEST_CHROMIUM"],
  command: {
    name: "chromium",
    find: (PATH) =>
      ["chromium", "chromium-browser", "google-chrome"].map((name) => Bun.which(name, { PATH })).find(Boolean) ??
      undefined,
  },
  required: true,
  read: (environment) => ({ executablePath: environment["TEST_CHROMIUM"] ?? "" }),
}

/** Where Debian puts it; not every PATH of a user names this folder. */
const SYSTEM_COMMANDS = "/usr/sbin"

const modulesOf = (command: string): string =>
  /--modules-path=(\S+)/.exec(Bun.spawnSync([command, "-V"]).stderr.toString())?.[1] ?? ""

export const NGINX: RealServer<Nginx> = {
  name: "Nginx",
  variables: ["TEST_NGINX"],
  command: {
    name: "nginx with its Lua module",
    find: (PATH) => {
      const command = Bun.which("nginx", { PATH: `${PATH}:${SYSTEM_COMMANDS}` })
      return command !== null && existsSync(`${modulesOf(command)}/ngx_http_lua_module.so`) ? command : undefined
    },
  },
  required: true,
  read: (environment) => {
    const command = environment["TEST_NGINX"] ?? ""
    return { command, modules: modulesOf(command) }
  },
}

const runs = (command: string, PATH: string): boolean =>
  Bun.spawnSync(["sh", "-c", `${command} version`], { env: { PATH }, stdio: ["ignore", "ignore", "ignore"] }).success

export const COMPOSE: RealServer<Compose> = {
  name: "Compose",
  variables: ["TEST_COMPOSE"],
  command: {
    name: "docker-compose",
    find: (PATH) => ["docker compose", "docker-compose"].find((command) => runs(command, PATH)),
  },
  required: true,
  read: (environment) => ({ command: environment["TEST_COMPOSE"] ?? "" }),
}

/** A Docker engine, and the command that asks it. */
export const DOCKER: RealServer<string> = {
  name: "Docker",
  variables: ["TEST_DOCKER"],
  command: { name: "docker, whose engine answers,", find: (PATH) => (runs("docker", PATH) ? "docker" : undefined) },
  required: true,
  read: (environment) => environment["TEST_DOCKER"] ?? "",
}

/** A path to the command. */
export const OAUTH2_PROXY: RealServer<string> = {
  name: "OAuth2_proxy",
  variables: ["TEST_OAUTH2_PROXY"],
  command: { name: "oauth2-proxy", find: (PATH) => Bun.which("oauth2-proxy", { PATH }) ?? undefined },
  required: true,
  read: (environment) => environment["TEST_OAUTH2_PROXY"] ?? "",
}

/** A path to the command. */
export const ACTIONLINT: RealServer<string> = {
  name: "Actionlint",
  variables: ["TEST_ACTIONLINT"],
  command: { name: "actionlint", find: (PATH) => Bun.which("actionlint", { PATH }) ?? undefined },
  required: true,
  read: (environment) => environment["TEST_ACTIONLINT"] ?? "",
}

/** A path to the command; tests/attacks/install.sh makes one. */
export const SCHEMATHESIS: RealServer<string> = {
  name: "Schemathesis",
  variables: ["TEST_SCHEMATHESIS"],
  command: { name: "schemathesis", find: (PATH) => Bun.which("schemathesis", { PATH }) ?? undefined },
  required: true,
  read: (environment) => environment["TEST_SCHEMATHESIS"] ?? "",
}

export type Presence<A> =
  | { readonly kind: "there"; readonly server: A }
  | { readonly kind: "skipped" | "missing"; readonly reason: string }

/** The environment with the address of `server` in it, when that is a command on the PATH. */
export const withCommand = (server: RealServer<unknown>, environment: Environment): Environment => {
  const [address] = server.variables
  if (environment[address]) return environment
  const command = server.command?.find(environment["PATH"] ?? "")
  return command === undefined ? environment : { ...environment, [address]: command }
}

/** What a suite that needs `server` has to do in this environment: run, be skipped, or fail. */
export const presence = <A>(server: RealServer<A>, given: Environment): Presence<A> => {
  const environment = withCommand(server, given)
  const unset = server.variables.filter((variable) => (environment[variable] ?? "") === "")
  if (unset.length === 0) return { kind: "there", server: server.read(environment) }
  const otherwise = server.command
    ? `put ${server.command.name} on the PATH`
    : "let `bun run check:real` start one in Docker"
  return {
    kind: server.required && environment["REQUIRE_REAL"] === "1" ? "missing" : "skipped",
    reason: `needs ${server.name}: set ${unset.join(", ")}, or ${otherwise}`,
  }
}

/**
 * Registers a suite that talks to a real server.
 *
 * @param name what the suite is about; with the reason behind it, it is the line of a skipped suite
 * @param suite registers the tests; not called when there is no server
 */
export const realSuite = <A>(server: RealServer<A>, name: string, suite: (server: A) => void): void => {
  const found = presence(server, process.env)
  if (found.kind === "there") describe(name, () => suite(found.server))
  else if (found.kind === "skipped") test.skip(`${name}: ${found.reason}`, () => {})
  else
    test(`${name}: ${found.reason}`, () => {
      throw new Error(`REQUIRE_REAL=1, and there is no ${server.name}`)
    })
}
