/** Text as one line of at most `length` characters, with an ellipsis if it was cut. Never splits a surrogate pair. */
export function shortText(text: string, length: number): string {
  // White space at the beginning can be long; eight times the length is enough to look at.
  const line = text
    .slice(0, length * 8)
    .toWellFormed()
    .replace(WHITESPACE, ' ')
    .trim()
  // At most as many characters as code units.
  if (line.length <= length) return line
  const characters = [...line.slice(0, length * 2)]
  if (characters.length <= length && line.length <= length * 2) return line
  return `${characters
    .slice(0, length - 1)
    .join('')
    .trimEnd()}…`
}

const WHITESPACE = /[\s\p{Cc}]+/gu
