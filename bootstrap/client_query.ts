// The query of a list as the service reads it.
type Scalar = string | number | boolean

/** One value of an `in` list: in quotes, so that it may hold commas. */
const quoted = (value: Scalar): string =>
  typeof value === "string" ? `"${value.replace(/["\\]/g, (mark) => `\\${mark}`)}"` : String(value)

const conditionText = (operator: string, value: unknown): string => {
  if (operator === "is") return "is.null"
  if (operator === "in") return `in.(${(value as ReadonlyArray<Scalar>).map(quoted).join()})`
  return `${operator}.${String(value)}`
}

/** A list as any collection's client may be asked for it. */
interface AnyListQuery {
  readonly where?: object
  readonly order?: ReadonlyArray<string>
  readonly select?: ReadonlyArray<PropertyKey>
}

/** The parameters of a list without its page. */
export const listParameters = ({ where = {}, order, select }: AnyListQuery): URLSearchParams => {
  const parameters = new URLSearchParams()
  for (const [field, wanted] of Object.entries<unknown>({ ...where })) {
    if (wanted === undefined) continue
    const comparisons =
      typeof wanted === "object" && wanted !== null ? Object.entries(wanted) : [["eq", wanted] as const]
    for (const [operator, value] of comparisons)
      if (value !== undefined) parameters.append(field, conditionText(operator, value))
  }
  if (order !== undefined && order.length > 0) parameters.set("order", order.join())
  if (select !== undefined) parameters.set("select", select.join())
  return parameters
}

/** The `after` of the page behind this one, out of its `Link` header (RFC 8288); undefined behind the last one. */
export const nextCursor = (link: string | null): string | undefined => {
  const [, address] = /<([^>]*)>; *rel="next"/.exec(link ?? "") ?? []
  // The address is read for its query alone: a gateway may show the service under another path.
  return address === undefined
    ? undefined
    : (new URLSearchParams(address.slice(address.indexOf("?") + 1)).get("after") ?? undefined)
}
