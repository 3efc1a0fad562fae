/*
 * Prevents prompt injection by the text of agents in results and questions: a contribution with the heading "## Votes" could
 * otherwise fake a vote count.
 */

const FENCE = /^ {0,3}(`{3,}|~{3,})/
const HEADING = /^( {0,3})(#{1,6})(?=\s|$)/
/** A rule under a text line makes it a heading; alone it separates contributions. */
const RULE = /^ {0,3}(=+|-{2,})\s*$/
/** Generated headings have at most three levels. */
const HEADING_OFFSET = 3

/** Collapses whitespace, so that the text cannot start a new line. */
export function toSingleLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** Lowers headings below the generated ones and disables rules. Code blocks are kept and closed at the end. */
export function quoteUntrusted(text: string): string {
  let fence: string | undefined
  const lines = text.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => {
    const [, marker] = FENCE.exec(line) ?? []
    if (fence !== undefined) {
      if (marker?.startsWith(fence) && line.trim() === marker) fence = undefined
      return line
    }
    if (marker !== undefined) {
      fence = marker
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
