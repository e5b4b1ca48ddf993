/** Makes a JSON value immutable at every depth: a record that many callers share cannot be changed by one of them. */
export const freezeDeep = <A>(value: A): A => {
  if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(freezeDeep)
    Object.freeze(value)
  }
  return value
}
