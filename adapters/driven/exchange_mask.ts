// What a debug log may show of an exchange. Everything here is pure.

const MASK = "***"

/** Characters of a body that are shown, after masking. */
const SHOWN = 1024

const SECRET_HEADER = /^(authorization|proxy-authorization|cookie|set-cookie|x-(scheduler|nomad|vault|consul)-token)$/i
const SECRET_NAME =
  /^(secretid|consultoken|vaulttoken|token|access_token|refresh_token|id_token|client_secret|password|passwd|secret|embeddedtmpl|payload|private_?key|api_?key)$/i
/** Objects all of whose values are secret: environments hold passwords under any name. */
const SECRET_OBJECT = /^env$/i

export const maskHeaders = (headers: Iterable<readonly [string, string]>): Readonly<Record<string, string>> =>
  Object.fromEntries([...headers].map(([name, value]) => [name, SECRET_HEADER.test(name) ? MASK : value]))

export const maskQuery = (query: string): string =>
  query
    .split("&")
    .map((pair) => {
      const [name = "", value] = pair.split("=", 2)
      return value !== undefined && SECRET_NAME.test(name) ? `${name}=${MASK}` : pair
    })
    .join("&")

/** Replaces every secret the exchange is known to carry, wherever it stands. */
export const maskSecrets = (text: string, secrets: ReadonlyArray<string>): string =>
  secrets.reduce((masked, secret) => (secret === "" ? masked : masked.replaceAll(secret, MASK)), text)

const maskValue = (name: string, value: unknown): unknown => {
  if (value === null || value === undefined || value === "") return value
  if (SECRET_NAME.test(name)) return MASK
  if (Array.isArray(value)) return value.map((each) => maskValue("", each))
  if (typeof value !== "object") return typeof value === "bigint" ? String(value) : value
  const entries = Object.entries(value)
  return Object.fromEntries(
    entries.map(([key, each]) => [key, SECRET_OBJECT.test(name) ? MASK : maskValue(key, each)] as const),
  )
}

/** A body as its size and, for JSON, its beginning with secrets masked; of anything else only the size is safe. */
export const maskBody = (body: string): Readonly<Record<string, unknown>> => {
  if (body === "") return { length: 0 }
  try {
    const text = JSON.stringify(maskValue("", JSON.parse(body)))
    return { length: body.length, json: text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text }
  } catch {
    return { length: body.length }
  }
}
