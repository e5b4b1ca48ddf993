/**
 * Judges a regular expression that an author wrote into a collection (ECMA-262, flag `u`): may hostile text keep it busy for
 * longer than a time in proportion to the text's length?
 *
 * @returns the broken rule, as the end of a sentence that begins with the place, or `undefined` for a pattern that is fine
 */
export type PatternJudge = (pattern: string) => string | undefined

/** The judge of who has none: a pattern that nobody judged could block the service. */
export const refuseEveryPattern: PatternJudge = () => "cannot be judged here: no judge of patterns was given"
