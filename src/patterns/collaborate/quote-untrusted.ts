/*
 * What others wrote, where it stands among our own lines. Whoever reads a result, a model or a person, must be able to tell
 * which heading is ours: a contribution that writes "## Votes" would otherwise count itself.
 */

const FENCE = /^ {0,3}(`{3,}|~{3,})/
const HEADING = /^( {0,3})(#{1,6})(?=\s|$)/
/** A line below a text makes a heading of it, and alone it is what we put between voices. */
const RULE = /^ {0,3}(=+|-{2,})\s*$/
/** Our own headings have at most three. */
const HEADING_OFFSET = 3

/** One line of it: nothing in it can begin a line of its own. */
export function toSingleLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** The text with its headings below ours and without rules; code in it stays as it is, and ends where the text ends. */
export function quoteUntrusted(text: string): string {
  let fence: string | undefined
  const lines = text.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => {
    const [, mark] = FENCE.exec(line) ?? []
    if (fence !== undefined) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = undefined
      return line
    }
    if (mark !== undefined) {
      fence = mark
      return line
    }
    return line
      .replace(
        HEADING,
        (_, margin: string, marks: string) => margin + '#'.repeat(Math.min(6, marks.length + HEADING_OFFSET)),
      )
      .replace(RULE, (rule) => [...rule.trim()].join(' '))
  })
  if (fence !== undefined) lines.push(fence)
  return lines.join('\n')
}
