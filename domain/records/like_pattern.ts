/** Most wildcards of one pattern: what a store spends on a long text grows with each of them. */
export const WILDCARDS_MAX = 3

/**
 * Reads a pattern: `*` stands for any text, also none; `\*` and `\\` stand for themselves.
 *
 * @returns the texts between the wildcards; nothing for a pattern with another use of `\`, or with too many wildcards
 */
export const likeParts = (pattern: string): ReadonlyArray<string> | undefined => {
  const parts: Array<string> = [""]
  for (const [token] of pattern.matchAll(/\\[*\\]|./gsu)) {
    if (token === "\\") return undefined
    if (token === "*") parts.push("")
    else parts.push((parts.pop() ?? "") + (token.length > 1 && token.startsWith("\\") ? token.slice(1) : token))
  }
  return parts.length <= WILDCARDS_MAX + 1 ? parts : undefined
}
