import { ConfigProvider, Data, Effect, Config as Environment, Option, Redacted } from "effect"
import { closest } from "fastest-levenshtein"
import { FEEDS_MAX } from "../adapters/driving/http/open_feeds.ts"
import { CLOCK_TOLERANCE_MAX_S } from "../domain/identity/token_rules.ts"
import { PackageMissing } from "../domain/package_missing.ts"
import {
  flag,
  httpUrl,
  oneOf,
  optionalOneOf,
  optionalOrigins,
  optionalPort,
  optionalText,
  type Parsed,
  poolSize,
  roleList,
  secret,
  text,
  type Variable,
  wholeNumber,
} from "./variables.ts"

const TERMINAL = process.stderr.isTTY === true

/** Every variable the product reads (specification 11). Nothing else looks at the environment. */
export const VARIABLES = {
  HOST: text("127.0.0.1", "address of the public listener"),
  PORT: wholeNumber(8080, 0, 65_535, "port of the public listener"),
  REUSE_PORT: flag(false, "lets several processes share the port, on Linux with STORE=mongo"),
  MAX_IN_FLIGHT: wholeNumber(1024, 1, 100_000, "requests that run at a time; the surplus gets 503"),
  MAX_FEEDS: wholeNumber(FEEDS_MAX, 1, 100_000, "feeds of changes that may be open at a time; the surplus gets 503"),
  CORS_ORIGINS: optionalOrigins("origins whose pages may use the service, or * for every one"),
  PORTOLAN_HOME: text(".portolan", "folder of the state: SQLite file, stack state, logs of the stack"),
  COLLECTIONS: optionalText("what `serve` serves: a .json file or a module exporting defineCollection results"),
  ADMIN_PORT: optionalPort("second listener for /health/* and /metrics"),
  LOG_LEVEL: oneOf("info", ["debug", "info", "warn", "error"], "least severe level that is logged"),
  LOG_FORMAT: oneOf(TERMINAL ? "pretty" : "json", ["pretty", "json"], "pretty on a terminal, else json"),
  AUTH_PUBLIC_KEY: secret("realm key(s): PEM, certificate, bare base64 (several by line or blank), JWK or JWKS"),
  AUTH_JWKS_URL: httpUrl("address of the realm's keys, instead of a fixed key"),
  AUTH_ISSUER: optionalText("the only accepted issuer"),
  AUTH_AUDIENCE: optionalText("the required audience"),
  AUTH_CLOCK_TOLERANCE_S: wholeNumber(0, 0, CLOCK_TOLERANCE_MAX_S, "seconds of tolerance for exp and nbf"),
  AUTH_REQUIRE_TYP: flag(false, "refuse a token without a typ claim"),
  STORE: oneOf("sqlite", ["sqlite", "memory", "mongo"], "where records and journals live"),
  SQLITE_PATH: optionalText("SQLite file; records.sqlite in PORTOLAN_HOME when unset"),
  MONGODB_URL: secret("MongoDB connection string; required with STORE=mongo"),
  MONGODB_SINGLE_WRITER: flag(false, "takes a server without atomic counters (FerretDB), for one process alone"),
  DB_MAX_OPEN_CONNS: poolSize("largest number of open connections; empty keeps the driver's default"),
  DB_MAX_IDLE_CONNS: poolSize("connections that stay open once idle; empty keeps the driver's default"),
  RECORDS_URL: httpUrl("service whose records `portolan records` asks for; the one on HOST and PORT when unset"),
  RECORDS_TOKEN: secret("access token of `portolan records`"),
  SCHEDULER_URL: httpUrl("scheduler agent; enables the scheduler routes"),
  SCHEDULER_TOKEN: secret("ACL token of the scheduler"),
  SCHEDULER_SCALE_GROUP: text("restreamer", "task group that scale and restart target"),
  SCHEDULER_LOG_LEVEL: optionalOneOf(["debug"], "debug logs every HTTP exchange, secrets masked"),
  SCHEDULER_ROLES: roleList("operator", "realm roles that may use /scheduler"),
  GRAPH_URL: httpUrl("media graph API; with GRAPH_API_VERSION it enables the media routes"),
  GRAPH_API_VERSION: optionalText("first path segment of every media call, such as v25.0"),
  GRAPH_ACCOUNT_ID: optionalText("media account for calls that name none"),
  GRAPH_ACCESS_TOKEN: secret("access token for calls that name none"),
  GRAPH_APP_ID: optionalText("app id of the app token request"),
  GRAPH_APP_SECRET: secret("app secret of the app token request"),
  MEDIA_ROLES: roleList("publisher", "realm roles that may use /media"),
  IDP_URL: httpUrl("identity provider of the token request"),
  IDP_REALM: optionalText("realm of the token request"),
  IDP_CLIENT_ID: optionalText("client of the token request"),
  IDP_CLIENT_SECRET: secret("client secret of the token request"),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl("collector that traces and metrics are exported to"),
  OTEL_SERVICE_NAME: text("portolan", "name of this service in the traces and metrics that are exported"),
} as const satisfies Record<string, Variable<unknown>>

/** Name of a variable the product reads. */
export type VariableName = keyof typeof VARIABLES

/** The effective configuration, by variable name. */
export type Config = {
  readonly [name in VariableName]: (typeof VARIABLES)[name] extends Variable<infer A> ? A : never
}

/** One mistake in the environment. `rule` never repeats a value. `variable` may be a name that the product does not know. */
export interface Mistake {
  readonly variable: string
  readonly rule: string
}

/** The environment is wrong: one line per mistake, exit code 2. */
export class InvalidConfiguration extends Data.TaggedError("InvalidConfiguration")<{
  readonly mistakes: ReadonlyArray<Mistake>
  /** The command that gets on from here; the list of all variables when absent. */
  readonly instead?: string
}> {
  readonly code = "INVALID_CONFIGURATION"
  readonly exitCode = 2
  readonly next: string = this.instead ?? "config --variables"
  override get message(): string {
    return this.mistakes.map(({ variable, rule }) => `${variable} ${rule}`).join("\n")
  }
}

/** What a process gets from its environment: text by name. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

const isSet = (entry: [string, string | undefined]): entry is [string, string] => entry[1] !== undefined

const NAMES = Object.keys(VARIABLES) as ReadonlyArray<VariableName>

/** Rules about more than one variable. */
const crossMistakes = (config: Config): ReadonlyArray<Mistake> => {
  const mistakes: Array<Mistake> = []
  const when = (broken: boolean, variable: VariableName, rule: string) => {
    if (broken) mistakes.push({ variable, rule })
  }
  when(
    config.REUSE_PORT && config.STORE !== "mongo",
    "REUSE_PORT",
    "needs STORE=mongo: processes with stores of their own, or with one SQLite file, must not share a port",
  )
  when(
    config.REUSE_PORT && config.MONGODB_SINGLE_WRITER,
    "MONGODB_SINGLE_WRITER",
    "must not be set with REUSE_PORT: processes that share a port all write",
  )
  when(config.REUSE_PORT && process.platform !== "linux", "REUSE_PORT", "works on Linux only")
  when(config.STORE === "mongo" && config.MONGODB_URL === undefined, "MONGODB_URL", "is required with STORE=mongo")
  when(
    config.AUTH_PUBLIC_KEY !== undefined && config.AUTH_JWKS_URL !== undefined,
    "AUTH_JWKS_URL",
    "must not be set together with AUTH_PUBLIC_KEY",
  )
  when(
    config.GRAPH_URL !== undefined && config.GRAPH_API_VERSION === undefined,
    "GRAPH_API_VERSION",
    "is required with GRAPH_URL",
  )
  when(
    config.GRAPH_URL === undefined && config.GRAPH_API_VERSION !== undefined,
    "GRAPH_URL",
    "is required with GRAPH_API_VERSION",
  )
  return mistakes
}

/**
 * Names that nobody but the product should set. A name of this kind that the table does not have is a typing mistake, and a
 * rule that the user believes in, such as the only accepted issuer, would silently not hold. The other variables have names
 * that any program may use (`HOST`, `LOG_...`, `OTEL_...`).
 */
const OWN_NAME_REGEXP =
  /^(?:(?:AUTH|CORS|DB|GRAPH|IDP|MEDIA|MONGODB|RECORDS|SCHEDULER|SQLITE)_|COLLECTIONS|MAX_(?:FEED|IN)|STORE)/i

/** The nearest name, of the same first word when there is one. */
const nearest = (name: string): string => {
  const upper = name.toUpperCase()
  const related = NAMES.filter((each) => each.split("_")[0] === upper.split("_")[0])
  return closest(upper, related.length > 0 ? related : NAMES)
}

const unknownVariables = (environment: EnvironmentVariables): ReadonlyArray<Mistake> =>
  Object.entries(environment)
    .filter(([name, value]) => OWN_NAME_REGEXP.test(name) && !(name in VARIABLES) && (value ?? "").trim() !== "")
    .map(([variable]) => ({
      variable,
      rule: `is unknown; did you mean ${nearest(variable)}?`,
    }))

const readOne = (name: VariableName, provider: ConfigProvider.ConfigProvider): Parsed<unknown> => {
  // Missing and empty both mean the default.
  const raw = Effect.runSync(Environment.option(Environment.String(name)).parse(provider))
  if (Option.isNone(raw) || raw.value.trim() === "") return { value: VARIABLES[name].fallback }
  return VARIABLES[name].parse(raw.value)
}

/**
 * Reads the whole configuration, collecting every mistake rather than stopping at the first.
 *
 * @param environment the variables by name; the process environment in production
 * @fails {InvalidConfiguration} naming each variable and the rule it breaks, and each unknown one of the product's own kind
 */
export const readConfig = (environment: EnvironmentVariables): Effect.Effect<Config, InvalidConfiguration> => {
  const provider = ConfigProvider.fromEnv({ env: Object.fromEntries(Object.entries(environment).filter(isSet)) })
  const values: Partial<Record<VariableName, unknown>> = {}
  const mistakes: Array<Mistake> = []
  for (const name of NAMES) {
    const parsed = readOne(name, provider)
    if ("rule" in parsed) mistakes.push({ variable: name, rule: parsed.rule })
    else values[name] = parsed.value
  }
  mistakes.push(...unknownVariables(environment))
  if (mistakes.length > 0) return Effect.fail(new InvalidConfiguration({ mistakes }))
  const config = values as Config
  const across = crossMistakes(config)
  return across.length > 0 ? Effect.fail(new InvalidConfiguration({ mistakes: across })) : Effect.succeed(config)
}

/** Only the driver knows which connection strings it takes; it is loaded when there is one to judge. */
const judgeMongoUrl = Effect.fnUntraced(function* ({ MONGODB_URL: url }: Config) {
  if (url === undefined) return
  const { mongoUrlMistake } = yield* Effect.promise(() => import("../adapters/driven/mongo_url.ts"))
  const rule = yield* Effect.promise(() =>
    mongoUrlMistake(Redacted.value(url)).catch((failure: unknown) => {
      if (failure instanceof PackageMissing) return `cannot be used: ${failure.message}`
      throw failure
    }),
  )
  if (rule !== undefined) yield* new InvalidConfiguration({ mistakes: [{ variable: "MONGODB_URL", rule }] })
})

/** The configuration of this process. */
export const readEnvironment = Effect.suspend(() => readConfig(process.env)).pipe(Effect.tap(judgeMongoUrl))

/** True when the variable is there and not empty. */
export const isConfigured = (name: VariableName): boolean => (process.env[name] ?? "").trim() !== ""

/** The SQLite file that holds records and journals. */
export const sqlitePath = (config: Config): string => config.SQLITE_PATH ?? `${config.PORTOLAN_HOME}/records.sqlite`

/** The password of a connection string, as it is written there. */
const PASSWORD = /:\/\/[^:@/]*:([^@]*)@/

/** The secrets among the values, and the password in a connection string. The realm's keys are public. */
export const configuredSecrets = (config: Partial<Config>): ReadonlyArray<string> =>
  Object.entries(config).flatMap(([name, value]) => {
    if (name === "AUTH_PUBLIC_KEY" || !Redacted.isRedacted(value)) return []
    const secret = String(Redacted.value(value))
    return [secret, ...(PASSWORD.exec(secret)?.slice(1) ?? [])]
  })

/** The configuration as `portolan config` prints it: a secret that is set shows only that it is. */
export const describeConfig = (config: Config): Readonly<Record<VariableName, string | number | boolean | null>> => {
  const shown = (value: unknown) => {
    if (value === undefined) return null
    if (Redacted.isRedacted(value)) return "<set>"
    if (Array.isArray(value)) return value.join(",")
    return value as string | number | boolean
  }
  return Object.fromEntries(NAMES.map((name) => [name, shown(config[name])])) as ReturnType<typeof describeConfig>
}
