import { LINES, type Line, VARIANTS, type Variant } from "./route_profile.ts"

/** What runs the stack's parts: processes of this program, or containers. */
export const ENGINES = ["embedded", "docker"] as const
/** Databases of the Docker engine's gateway; `off` is a gateway that reads its configuration from a file. */
export const DATABASES = ["off", "postgres", "cassandra"] as const

/** What `stack up` starts. */
export interface StackOptions {
  readonly engine: (typeof ENGINES)[number]
  readonly gateway: Line
  readonly variant: Variant
  readonly database: (typeof DATABASES)[number]
  /** TCP ports on the loopback interface, 0..65535; 0 takes a free one. */
  readonly proxyPort: number
  readonly idpPort: number
  readonly upstreamPort: number
  /** Realm roles `/jwt` asks for, any one of them; none asks for no role. */
  readonly jwtRoles: ReadonlyArray<string>
}

/** Options as written on the command line; an absent one takes its default. */
export type WrittenOptions = { readonly [name in keyof StackOptions]?: string | undefined }

/** What `stack up` starts when nothing is said. */
export const STACK_DEFAULTS: StackOptions = {
  engine: "embedded",
  gateway: "3.9",
  variant: "standard",
  database: "off",
  proxyPort: 8000,
  idpPort: 8180,
  upstreamPort: 8900,
  jwtRoles: [],
}

/** The name of an option on the command line: `proxyPort` is `--proxy-port`. */
export const flagOf = (option: keyof StackOptions): string =>
  `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

type Read<A> = { readonly value: A } | { readonly rule: string }

const oneOf =
  <A extends string>(values: ReadonlyArray<A>) =>
  (text: string): Read<A> => {
    const value = values.find((each) => each === text)
    return value === undefined ? { rule: `must be one of ${values.join(", ")}` } : { value }
  }

const port = (text: string): Read<number> =>
  /^\d{1,5}$/.test(text) && Number(text) <= 65_535
    ? { value: Number(text) }
    : { rule: "must be a port from 0 to 65535" }

const roles = (text: string): Read<ReadonlyArray<string>> => {
  const value = text.split(",").map((role) => role.trim())
  return value.includes("") ? { rule: "must be a comma list of role names" } : { value }
}

/** Tells why options cannot be combined: one line for each reason, none when they can. */
export const conflictsOf = (options: StackOptions): ReadonlyArray<string> => {
  const { engine, gateway, database, proxyPort, idpPort, upstreamPort } = options
  const ports = [proxyPort, idpPort, upstreamPort].filter((each) => each !== 0)
  return [
    ...(gateway === "3.9" && database !== "off"
      ? [
          `database '${database}' cannot be combined with gateway 3.9: the 3.x profile of this stack is declarative only` +
            " (and Cassandra no longer exists there since 3.4). Use --database off, or --gateway 2.8",
        ]
      : []),
    ...(engine === "embedded" && database !== "off"
      ? [`database '${database}' cannot be combined with the embedded engine: it has none. Use --engine docker`]
      : []),
    ...(new Set(ports).size < ports.length ? ["--proxy-port, --idp-port and --upstream-port must differ"] : []),
  ]
}

/**
 * Reads the options of `stack up`.
 *
 * @returns the options, or one line per mistake
 * @see specification 4.4: a database with a 3.x image is refused with a printed reason; specification 17
 */
export const readStackOptions = (
  written: WrittenOptions,
): StackOptions | { readonly mistakes: ReadonlyArray<string> } => {
  const mistakes: Array<string> = []
  const read = <K extends keyof StackOptions>(name: K, parse: (text: string) => Read<StackOptions[K]>) => {
    const text = written[name]
    const parsed = text === undefined ? { value: STACK_DEFAULTS[name] } : parse(text)
    if ("value" in parsed) return parsed.value
    mistakes.push(`${flagOf(name)} ${parsed.rule}`)
    return STACK_DEFAULTS[name]
  }
  const options: StackOptions = {
    engine: read("engine", oneOf(ENGINES)),
    gateway: read("gateway", oneOf(LINES)),
    variant: read("variant", oneOf(VARIANTS)),
    database: read("database", oneOf(DATABASES)),
    proxyPort: read("proxyPort", port),
    idpPort: read("idpPort", port),
    upstreamPort: read("upstreamPort", port),
    jwtRoles: read("jwtRoles", roles),
  }
  const all = mistakes.length > 0 ? mistakes : conflictsOf(options)
  return all.length > 0 ? { mistakes: all } : options
}
