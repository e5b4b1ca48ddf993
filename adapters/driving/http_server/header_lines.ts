/** A header line: name in lower case, value without surrounding blanks, bytes as Latin-1 (RFC 9110 section 5.5). */
export type HeaderLine = readonly [name: string, value: string]

/** What would end a header line, or does once it is Latin-1: of a character beyond, only the low byte would be sent. */
const LINE_BREAK = /[\r\n\0]|[^\0-\xff]/

/** @throws when the value would break its line: whoever could write it could write headers, or a whole message, of their own */
export const checkValue = (name: string, value: string): void => {
  if (LINE_BREAK.test(value)) throw new Error(`The value of ${name} breaks its line`)
}

/** The header lines of a message in order; repeated names stay repeated. */
export class HeaderLines {
  readonly #flat: ReadonlyArray<string>

  /** @param flat names and values in turn */
  constructor(flat: ReadonlyArray<string>) {
    this.#flat = flat
  }

  /** The value of a header as standard `Headers` give it: of several lines joined, `null` when there is none. */
  get(name: string): string | null {
    const flat = this.#flat
    let value: string | null = null
    for (let at = 0; at < flat.length; at += 2)
      if (flat[at] === name) value = value === null ? (flat[at + 1] ?? "") : `${value}, ${flat[at + 1]}`
    return value
  }

  /** Every line. */
  lines(): Array<[name: string, value: string]> {
    const flat = this.#flat
    return Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at] ?? "", flat[2 * at + 1] ?? ""])
  }
}
