/** An object as JSON knows it: text keys, any values. */
export type JsonObject = Readonly<Record<string, unknown>>

/** True for a JSON object: neither `null` nor an array. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
