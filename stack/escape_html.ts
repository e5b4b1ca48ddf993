/**
 * Writes a text so that HTML shows it as it is, in an element or in a quoted attribute.
 *
 * @returns the text with `&`, `<`, `>`, `"` and `'` as numeric character references
 */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
