/*
 * String literals of code, without a parser. Over-approximates on purpose: text between two equal quotes of a line counts, also in comments and
 * between two literals, so that an apostrophe in a comment hides nothing.
 */

const QUOTES = ["'", '"', '`'] as const
const MAX_LITERAL_CHARS = 500

export function stringLiterals(code: string): Set<string> {
  const found = new Set<string>()
  for (const line of code.split('\n'))
    for (const quote of QUOTES)
      for (const text of line.split(quote).slice(1, -1)) if (isPossibleName(text)) found.add(text)
  return found
}

function isPossibleName(text: string): boolean {
  return text !== '' && text.length <= MAX_LITERAL_CHARS && !text.includes('\0')
}
