/* Streams structured output: extracts the `response` text from an incomplete JSON object. */

const FENCE = /^\s*(?:```(?:json)?\s*)?/
const RESPONSE = /"response"\s*:\s*"/

/** The `response` of an unfinished object, or plain text as it is; empty before the field has started. */
export function partialResponseText(text: string): string {
  const plain = text.replace(FENCE, '')
  if (!plain.startsWith('{')) return text
  const found = RESPONSE.exec(plain)
  return found ? decodeJsonString(plain.slice(found.index + found[0].length)) : ''
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '', b: '', f: '' }
const PIECE = /\\u([0-9a-fA-F]{4})|\\(.)|([^"\\]+)/gsy

/** Decodes a JSON string up to its closing quote or the end of input. */
function decodeJsonString(text: string): string {
  let decoded = ''
  PIECE.lastIndex = 0
  for (let piece = PIECE.exec(text); piece; piece = PIECE.exec(text)) {
    const [, code, escaped, plain] = piece
    if (plain !== undefined) decoded += plain
    else if (code !== undefined) decoded += String.fromCharCode(Number.parseInt(code, 16))
    else if (escaped !== undefined) decoded += ESCAPES[escaped] ?? escaped
  }
  // The second half of a surrogate pair has not arrived yet.
  return decoded.replace(/[\ud800-\udbff]$/, '')
}
