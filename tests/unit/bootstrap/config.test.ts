import { deepEqual, equal } from "node:assert/strict"
import { describe, test } from "node:test"
import { Effect } from "effect"
import { type Config, describeConfig, readConfig, sqlitePath, VARIABLES } from "../../../bootstrap/config.ts"

type Environment = Readonly<Record<string, string>>

const read = (env: Environment): Config => Effect.runSync(readConfig(env))

/** The mistakes, as the lines a user sees. */
const mistakes = (env: Environment): ReadonlyArray<string> =>
  Effect.runSync(Effect.flip(readConfig(env))).message.split("\n")

const NAMES = Object.keys(VARIABLES) as ReadonlyArray<keyof typeof VARIABLES>

describe("defaults", () => {
  const defaults = Object.fromEntries(NAMES.map((name) => [name, VARIABLES[name].fallback]))

  for (const [what, text] of [
    ["missing", undefined],
    ["empty", ""],
    ["blank", " \t"],
  ] as const)
    test(`hold for a variable that is ${what}`, () => {
      const env = Object.fromEntries(NAMES.flatMap((name) => (text === undefined ? [] : [[name, text]])))
      deepEqual({ ...read(env) }, defaults)
    })

  test("are those that are documented", () => {
    const { LOG_FORMAT: _terminal, ...shown } = describeConfig(read({}))
    const set = Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== null))
    deepEqual(set, {
      HOST: "127.0.0.1",
      PORT: 8080,
      REUSE_PORT: false,
      PORTOLAN_HOME: ".portolan",
      LOG_LEVEL: "info",
      MAX_IN_FLIGHT: 1024,
      MAX_FEEDS: 256,
      AUTH_CLOCK_TOLERANCE_S: 0,
      AUTH_REQUIRE_TYP: false,
      STORE: "sqlite",
      MONGODB_SINGLE_WRITER: false,
      SCHEDULER_SCALE_GROUP: "restreamer",
      SCHEDULER_ROLES: "operator",
      MEDIA_ROLES: "publisher",
      OTEL_SERVICE_NAME: "portolan",
    })
  })
})

describe("values", () => {
  for (const [name, text, value] of [
    ["PORT", "0", 0],
    ["PORT", "65535", 65_535],
    ["ADMIN_PORT", "9090", 9090],
    ["LOG_LEVEL", "DEBUG", "debug"],
    ["STORE", "Memory", "memory"],
    ["SCHEDULER_LOG_LEVEL", "debug", "debug"],
    ["AUTH_REQUIRE_TYP", "TRUE", true],
    ["AUTH_REQUIRE_TYP", "0", false],
    ["DB_MAX_OPEN_CONNS", "25", 25],
    ["SCHEDULER_URL", "https://h:4646/v1/", "https://h:4646/v1/"],
    ["SCHEDULER_ROLES", "operator, captain ", ["operator", "captain"]],
    ["CORS_ORIGINS", "https://a.example , http://localhost:5173", ["https://a.example", "http://localhost:5173"]],
    ["CORS_ORIGINS", "http://[::1]:8080", ["http://[::1]:8080"]],
    ["CORS_ORIGINS", "*", ["*"]],
  ] as const)
    test(`${name}=${text}`, () => deepEqual(read({ [name]: text })[name], value))

  test("SQLITE_PATH lies in PORTOLAN_HOME unless it is set", () => {
    equal(sqlitePath(read({ PORTOLAN_HOME: "/state" })), "/state/records.sqlite")
    equal(sqlitePath(read({ PORTOLAN_HOME: "/state", SQLITE_PATH: "/x.sqlite" })), "/x.sqlite")
  })
})

describe("mistakes", () => {
  for (const [name, text, rule] of [
    ["PORT", "080", "must be a whole number from 0 to 65535"],
    ["PORT", "8e3", "must be a whole number from 0 to 65535"],
    ["AUTH_JWKS_URL", "realm.example", "must be an http or https URL"],
    ["IDP_URL", "file:///etc/passwd", "must be an http or https URL"],
    ["CORS_ORIGINS", "https://a.example,*", "entry 2 must stand alone: * is every origin"],
    ...[
      "https://a.example/",
      "https://a.example/x",
      "https://A.example",
      "https://a.example:443",
      "https://u:p@a.example",
    ].map(
      (origin) =>
        [
          "CORS_ORIGINS",
          origin,
          "entry 1 must be as browsers send it: lower case, no path or slash at its end, no default port",
        ] as const,
    ),
    ...["a.example", "null", "file:///a", "https://", "https://*.a.example:x", ""].map(
      (origin) =>
        [
          "CORS_ORIGINS",
          `http://b.example,${origin}`,
          "entry 2 must be an origin such as https://app.example.com: http or https, a host and perhaps a port",
        ] as const,
    ),
  ] as const)
    test(`${name}=${text}`, () => deepEqual(mistakes({ [name]: text }), [`${name} ${rule}`]))

  test("are all told at once, in the order of the variables", () => {
    deepEqual(
      mistakes({ STORE: "x", PORT: "x", LOG_LEVEL: "x" }).map((line) => line.split(" ")[0]),
      ["PORT", "LOG_LEVEL", "STORE"],
    )
  })

  for (const [env, line] of [
    [{ STORE: "mongo" }, "MONGODB_URL is required with STORE=mongo"],
    [
      { STORE: "mongo", MONGODB_URL: "mongodb://h", REUSE_PORT: "true", MONGODB_SINGLE_WRITER: "true" },
      "MONGODB_SINGLE_WRITER must not be set with REUSE_PORT: processes that share a port all write",
    ],
    [{ GRAPH_URL: "http://h" }, "GRAPH_API_VERSION is required with GRAPH_URL"],
    [{ GRAPH_API_VERSION: "v25.0" }, "GRAPH_URL is required with GRAPH_API_VERSION"],
    [
      { AUTH_PUBLIC_KEY: "a", AUTH_JWKS_URL: "http://h" },
      "AUTH_JWKS_URL must not be set together with AUTH_PUBLIC_KEY",
    ],
  ] as const)
    test(`across variables: ${line}`, () => deepEqual(mistakes(env), [line]))
})

describe("unknown variables", () => {
  for (const [name, meant] of [
    ["AUTH_ISUER", "AUTH_ISSUER"],
    ["AUTH_ISSUER_", "AUTH_ISSUER"],
    ["auth_issuer", "AUTH_ISSUER"],
    ["SCHEDULER_TOKN", "SCHEDULER_TOKEN"],
    ["GRAPH_VERSION", "GRAPH_API_VERSION"],
    ["IDP_CLIENTID", "IDP_CLIENT_ID"],
    ["DB_MAX_OPEN_CONN", "DB_MAX_OPEN_CONNS"],
    ["DB_MAX", "DB_MAX_OPEN_CONNS"],
    ["MEDIA_ROLE", "MEDIA_ROLES"],
    ["STORES", "STORE"],
    ["COLLECTIONS_", "COLLECTIONS"],
    ["SQLITE_FILE", "SQLITE_PATH"],
    ["MONGODB_URI", "MONGODB_URL"],
    ["CORS_ORIGIN", "CORS_ORIGINS"],
    ["MAX_FEED", "MAX_FEEDS"],
  ] as const)
    test(`${name} is not taken for ${meant} in silence`, () => {
      deepEqual(mistakes({ [name]: "SUBMITTED" }), [`${name} is unknown; did you mean ${meant}?`])
    })

  test("are told beside wrong values", () => {
    deepEqual(
      mistakes({ AUTH_ISUER: "x", PORT: "x" }).map((line) => line.split(" ")[0]),
      ["PORT", "AUTH_ISUER"],
    )
  })

  test("are nobody's mistake when they are empty, or when another program owns the name", () => {
    const others = {
      HOSTNAME: "h",
      PORTS: "1",
      LOG_DIR: "/l",
      OTEL_LOG_LEVEL: "s",
      TEST_MONGODB_URL: "m",
      PATH: "/",
    }
    deepEqual(read({ AUTH_ISUER: " ", ...others }), read({}))
  })
})
