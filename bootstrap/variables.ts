import { Redacted } from "effect"

/** The value of a variable's text, or the rule the text breaks. A rule never repeats the text: it may be a secret. */
export type Parsed<A> = { readonly value: A } | { readonly rule: string }

/** One environment variable: how its text is read and what holds when it is missing or empty. */
export interface Variable<A> {
  readonly parse: (text: string) => Parsed<A>
  readonly fallback: A
  /** Shown in bootstrap/README.md and by `portolan config`. */
  readonly meaning: string
}

const variable = <A>(fallback: A, meaning: string, parse: Variable<A>["parse"]): Variable<A> => ({
  parse,
  fallback,
  meaning,
})

/** Any text. */
export const text = (fallback: string, meaning: string): Variable<string> =>
  variable(fallback, meaning, (value) => ({ value }))

/** Any text, or nothing. */
export const optionalText = (meaning: string): Variable<string | undefined> =>
  variable<string | undefined>(undefined, meaning, (value) => ({ value }))

/** A text that is never shown, or nothing. */
export const secret = (meaning: string): Variable<Redacted.Redacted<string> | undefined> =>
  variable<Redacted.Redacted<string> | undefined>(undefined, meaning, (value) => ({ value: Redacted.make(value) }))

const DECIMAL_REGEXP = /^(?:0|[1-9]\d{0,8})$/

const whole = (value: string, from: number, to: number): Parsed<number> =>
  DECIMAL_REGEXP.test(value) && Number(value) >= from && Number(value) <= to
    ? { value: Number(value) }
    : { rule: `must be a whole number from ${from} to ${to}` }

/** A whole number in decimal digits, from `from` to `to`. */
export const wholeNumber = (fallback: number, from: number, to: number, meaning: string): Variable<number> =>
  variable(fallback, meaning, (value) => whole(value, from, to))

/** A TCP port, or nothing; 0 takes a free one. */
export const optionalPort = (meaning: string): Variable<number | undefined> =>
  variable<number | undefined>(undefined, meaning, (value) => whole(value, 0, 65_535))

/** A pool size: text, as specification 8 says; empty keeps the driver's default. */
export const poolSize = (meaning: string): Variable<number | undefined> =>
  variable<number | undefined>(undefined, meaning, (value) => whole(value, 1, 100_000))

const choose = <A extends string>(value: string, choices: ReadonlyArray<A>): Parsed<A> => {
  const choice = choices.find((each) => each === value.toLowerCase())
  return choice === undefined ? { rule: `must be one of ${choices.join(", ")}` } : { value: choice }
}

/** One of a few words, in any case. */
export const oneOf = <const A extends string>(fallback: A, choices: ReadonlyArray<A>, meaning: string): Variable<A> =>
  variable<A>(fallback, meaning, (value) => choose(value, choices))

/** One of a few words, in any case, or nothing. */
export const optionalOneOf = <const A extends string>(
  choices: ReadonlyArray<A>,
  meaning: string,
): Variable<A | undefined> => variable<A | undefined>(undefined, meaning, (value) => choose(value, choices))

/** Yes or no, in the usual words. */
export const flag = (fallback: boolean, meaning: string): Variable<boolean> =>
  variable<boolean>(fallback, meaning, (value) => {
    if (/^(?:true|1|yes|on)$/i.test(value)) return { value: true }
    if (/^(?:false|0|no|off)$/i.test(value)) return { value: false }
    return { rule: "must be true or false" }
  })

/** An http(s) base URL. User info is refused: a secret in a URL ends up in logs. */
export const httpUrl = (meaning: string): Variable<string | undefined> =>
  variable<string | undefined>(undefined, meaning, (value) => {
    const url = URL.canParse(value) ? new URL(value) : undefined
    if (url === undefined || !/^https?:$/.test(url.protocol)) return { rule: "must be an http or https URL" }
    if (url.username !== "" || url.password !== "") return { rule: "must not contain a user name or password" }
    if (url.search !== "" || url.hash !== "") return { rule: "must not contain a query or fragment" }
    return { value }
  })

/** A comma list of realm role names; at least one. */
export const roleList = (fallback: string, meaning: string): Variable<ReadonlyArray<string>> =>
  variable<ReadonlyArray<string>>([fallback], meaning, (value) => {
    const roles = value.split(",").map((role) => role.trim())
    return roles.every((role) => role !== "") ? { value: roles } : { rule: "must be a comma list of realm role names" }
  })

/** The rule that an entry of a list of origins breaks; `undefined` when it breaks none. */
const originRule = (origin: string, only: boolean): string | undefined => {
  if (origin === "*") return only ? undefined : "must stand alone: * is every origin"
  const url = URL.canParse(origin) ? new URL(origin) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return "must be an origin such as https://app.example.com: http or https, a host and perhaps a port"
  // Browsers send one spelling only, and it is compared character by character.
  return url.origin === origin
    ? undefined
    : "must be as browsers send it: lower case, no path or slash at its end, no default port"
}

/** A comma list of web origins (RFC 6454 section 6.2), or `*` alone, or nothing. */
export const optionalOrigins = (meaning: string): Variable<ReadonlyArray<string> | undefined> =>
  variable<ReadonlyArray<string> | undefined>(undefined, meaning, (value) => {
    const origins = value.split(",").map((origin) => origin.trim())
    const rules = origins.flatMap((origin, at) => {
      const rule = originRule(origin, origins.length === 1)
      return rule === undefined ? [] : [`entry ${at + 1} ${rule}`]
    })
    return rules.length === 0 ? { value: origins } : { rule: rules.join("; ") }
  })
