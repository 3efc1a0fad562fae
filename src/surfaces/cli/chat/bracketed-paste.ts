/*
 * Bracketed paste: keeps pasted text in one line, so that it becomes one message. The terminal marks start and end of the
 * paste; in between, newlines and tabs are replaced by symbols, which are decoded when the line is entered.
 */

export const ENABLE_BRACKETED_PASTE = '\x1b[?2004h'
export const DISABLE_BRACKETED_PASTE = '\x1b[?2004l'

const PASTE_START = '\x1b[200~'
const PASTE_END = '\x1b[201~'
const SYMBOLS = { '\n': '␤', '\t': '␉' } as const

export const NEWLINE_SYMBOL = SYMBOLS['\n']

/** A streaming filter: passes typed input through and encodes pasted text. Markers may be split across chunks. */
export function createPasteFilter(): (chunk: string) => string {
  let isPasting = false
  let buffered = ''
  /** An Escape that was passed on as a key press and may turn out to start a marker. */
  let heldEscape = ''
  return (chunk) => {
    // If the terminal never sends the end marker, Ctrl-C must still work.
    if (isPasting && chunk === '\x03') isPasting = false
    let rest = heldEscape + buffered + chunk
    let emitted = heldEscape.length
    heldEscape = ''
    let output = ''
    for (;;) {
      const marker = isPasting ? PASTE_END : PASTE_START
      const index = rest.indexOf(marker)
      const end = index === -1 ? rest.length - partialMarkerLength(rest, isPasting) : index
      output += isPasting ? encodePasted(rest.slice(0, end)) : rest.slice(emitted, end)
      if (index === -1) {
        heldEscape = !isPasting && (end < emitted || output.endsWith('\x1b')) ? '\x1b' : ''
        buffered = rest.slice(Math.max(end, emitted))
        return output
      }
      emitted = 0
      rest = rest.slice(index + marker.length)
      isPasting = !isPasting
    }
  }
}

/** Length of a possible partial marker, or half of CRLF, at the end. A lone Escape outside a paste is a key press. */
function partialMarkerLength(text: string, isPasting: boolean): number {
  const marker = isPasting ? PASTE_END : PASTE_START
  if (isPasting && text.endsWith('\r')) return 1
  for (let length = marker.length - 1; length >= (isPasting ? 1 : 2); length--) {
    if (text.endsWith(marker.slice(0, length))) return length
  }
  return 0
}

function encodePasted(text: string): string {
  const lines = text.replaceAll(/\r\n?/g, '\n')
  return lines
    .replaceAll('\n', SYMBOLS['\n'])
    .replaceAll('\t', SYMBOLS['\t'])
    .replaceAll(/\p{Cc}/gu, '')
}

export function decodePasted(line: string): string {
  return line.replaceAll(SYMBOLS['\n'], '\n').replaceAll(SYMBOLS['\t'], '\t')
}

/** The text before a trailing, unescaped backslash; `undefined` when the line does not continue. */
export function parseContinuation(line: string): string | undefined {
  const [slashes = ''] = /\\*$/.exec(line) ?? []
  return slashes.length % 2 === 1 ? line.slice(0, -1) : undefined
}
