/*
 * Agents of a team often answer with an object whose `response` is what they say. While it is written, only its beginning is
 * there: this reads what is said so far out of it.
 */

const FENCE = /^\s*(?:```(?:json)?\s*)?/
const RESPONSE = /"response"\s*:\s*"/

/** What an unfinished answer says; nothing as long as it has not come to that. */
export function partialResponseText(text: string): string {
  const plain = text.replace(FENCE, '')
  if (!plain.startsWith('{')) return text
  const found = RESPONSE.exec(plain)
  return found ? decodeJsonString(plain.slice(found.index + found[0].length)) : ''
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '', b: '', f: '' }
const PIECE = /\\u([0-9a-fA-F]{4})|\\(.)|([^"\\]+)/gsy

/** The beginning of a JSON string, up to its end or to where it breaks off. */
function decodeJsonString(text: string): string {
  let said = ''
  PIECE.lastIndex = 0
  for (let piece = PIECE.exec(text); piece; piece = PIECE.exec(text)) {
    const [, code, escaped, plain] = piece
    if (plain !== undefined) said += plain
    else if (code !== undefined) said += String.fromCharCode(Number.parseInt(code, 16))
    else if (escaped !== undefined) said += ESCAPES[escaped] ?? escaped
  }
  // Half a pair of surrogates: the other half is still to come.
  return said.replace(/[\ud800-\udbff]$/, '')
}
