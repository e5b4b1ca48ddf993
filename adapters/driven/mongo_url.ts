import { loadDriver } from "./mongo_driver.ts"

/** Database when the connection string names none. */
const DATABASE_DEFAULT = "portolan"

/**
 * The database in the path of a connection string, which may name several hosts and so is no URL.
 *
 * @throws {URIError} on a path that cannot be a database name: then a `/` in the password was not percent-encoded
 */
export const databaseIn = (url: string): string => {
  const path = /^mongodb(?:\+srv)?:\/\/[^/?]+\/([^?]+)/.exec(url)?.[1]
  const name = path === undefined ? DATABASE_DEFAULT : decodeURIComponent(path)
  if (/[@/]/.test(name)) throw new URIError("No database name")
  return name
}

const ENCODING = "has a character in its user name or password that must be percent-encoded: '@', ':', '/', '?' or '%'"

/** A name, an IPv4 address, an IPv6 address in brackets, or the percent-encoded path of a socket. */
const HOST_REGEXP = /^(?:[^\s#%[\]]+|\[[0-9a-f:.]+\]|%2f[^:]+)$/i

const hostMistake = (host: string, at: number): string | undefined => {
  const { name = "", port } = /^(?<name>\[[^\]]*\]|[^:]*)(?::(?<port>.*))?$/.exec(host)?.groups ?? {}
  if (name === "") return `has no host name at host ${at + 1}`
  if (!HOST_REGEXP.test(name)) return `has a wrong host name at host ${at + 1}`
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535))
    return `has a wrong port at host ${at + 1}: it must be a number from 1 to 65535`
  return undefined
}

const hostsMistake = (authority: string, isService: boolean): string | undefined => {
  const hosts = authority.slice(authority.lastIndexOf("@") + 1).split(",")
  if (isService && (hosts.length > 1 || hosts.some((host) => host.includes(":"))))
    return "must name one host without a port with mongodb+srv"
  return hosts.map(hostMistake).find((mistake) => mistake !== undefined)
}

/** The option that the driver complains of. It is quoted when it looks like the name of one: a piece of a password may not. */
const optionMistake = (options: string, complaint: string): string | undefined => {
  const names = options.split("&").map((option) => option.split("=")[0] ?? "")
  const wrong = names.find((name) => name !== "" && complaint.toLowerCase().includes(name.toLowerCase()))
  if (wrong === undefined) return undefined
  const option = /^[a-z]{1,40}$/i.test(wrong) ? `the option '${wrong}'` : "an option"
  return /not supported/.test(complaint)
    ? `has ${option}, which the driver does not know`
    : `has a wrong value for ${option}`
}

/** User name and password as the standard wants them: one ':' at most, and everything else encoded. */
const isUserWrong = (authority: string): boolean =>
  /@|:.*:|%(?![0-9a-f]{2})/i.test(authority.slice(0, Math.max(authority.lastIndexOf("@"), 0)))

/**
 * Which part of a connection string is wrong.
 *
 * @param complaint of the driver; `undefined` when it takes the string. It also takes hosts that cannot be any.
 */
const wrongPart = (url: string, complaint: string | undefined): string | undefined => {
  const { service, authority, path, options } =
    /^mongodb(?<service>\+srv)?:\/\/(?<authority>[^/?]*)(?<path>\/[^?]*)?(?:\?(?<options>.*))?$/s.exec(url)?.groups ??
    {}
  if (authority === undefined) return "must begin with mongodb:// or mongodb+srv://"
  // What stands before the last '@' is meant as user name and password.
  const isUserCut = `${path ?? ""}?${options ?? ""}`.includes("@")
  if (complaint !== undefined && (isUserCut || isUserWrong(authority))) return ENCODING
  const hosts = hostsMistake(authority, service !== undefined)
  if (hosts !== undefined || complaint === undefined) return hosts
  return (
    optionMistake(options ?? "", complaint) ??
    (path === undefined || path === "/" ? "cannot be read" : "has a wrong database name")
  )
}

/**
 * What is wrong with a connection string, as the end of a sentence that begins with its name. It quotes the name of an option
 * at most: what stands where a host should be may be a piece of the password.
 *
 * @returns the part that is wrong and the rule, or `undefined` for a string that the driver takes
 * @throws {PackageMissing} when the driver is not installed
 * @see https://www.mongodb.com/docs/manual/reference/connection-string/
 */
export const mongoUrlMistake = async (url: string): Promise<string | undefined> => {
  const { MongoClient } = await loadDriver()
  try {
    // A client connects at its first operation, and this one has none.
    new MongoClient(url).db(databaseIn(url))
    return wrongPart(url, undefined)
  } catch (failure) {
    return wrongPart(url, failure instanceof Error ? failure.message : "")
  }
}
