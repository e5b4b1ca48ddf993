/** One broken rule of something a caller submitted: where, and which rule. It never holds the submitted value. */
export interface Issue {
  /** Place in what was submitted, a JSON Pointer (RFC 6901); empty for the whole of it. */
  readonly pointer: string
  /** The rule, as the end of a sentence that begins with the place: `must be an object`. */
  readonly message: string
}

/** The pointer of a member below `pointer`, its name escaped as RFC 6901 section 3 says. */
export const memberPointer = (pointer: string, name: string): string =>
  `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`

/** Issues as one sentence, for the message of an error: `/caption must be string; /locationId is required`. */
export const issuesSentence = (issues: ReadonlyArray<Issue>): string =>
  issues.map(({ pointer, message }) => `${pointer || "/"} ${message}`).join("; ")
