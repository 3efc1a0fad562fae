/*
 * Text that is pasted into a line. The terminal marks where it begins and ends; in between, what would end the line or ask
 * for a completion is shown as a sign, and comes back when the line is entered. So a pasted text is one message.
 */

export const ENABLE_BRACKETED_PASTE = '\x1b[?2004h'
export const DISABLE_BRACKETED_PASTE = '\x1b[?2004l'

const PASTE_START = '\x1b[200~'
const PASTE_END = '\x1b[201~'
const SYMBOLS = { '\n': '␤', '\t': '␉' } as const

/** Where a line goes on below. */
export const NEWLINE_SYMBOL = SYMBOLS['\n']

/** What is typed passes, piece by piece as it comes; what is pasted stays within one line. */
export function createPasteFilter(): (chunk: string) => string {
  let pasting = false
  let held = ''
  /** An Escape that was passed on as a key, and may turn out to begin a mark. */
  let key = ''
  return (chunk) => {
    // A terminal that forgets the end must not swallow the key that everyone leaves with.
    if (pasting && chunk === '\x03') pasting = false
    let rest = key + held + chunk
    let known = key.length
    key = ''
    let passed = ''
    for (;;) {
      const mark = pasting ? PASTE_END : PASTE_START
      const at = rest.indexOf(mark)
      const end = at === -1 ? rest.length - partialMarkerLength(rest, pasting) : at
      passed += pasting ? encodePasted(rest.slice(0, end)) : rest.slice(known, end)
      if (at === -1) {
        key = !pasting && (end < known || passed.endsWith('\x1b')) ? '\x1b' : ''
        held = rest.slice(Math.max(end, known))
        return passed
      }
      known = 0
      rest = rest.slice(at + mark.length)
      pasting = !pasting
    }
  }
}

/** How much at the end may be the beginning of a mark, or half the end of a line. A lone Escape is a key. */
function partialMarkerLength(text: string, pasting: boolean): number {
  const mark = pasting ? PASTE_END : PASTE_START
  if (pasting && text.endsWith('\r')) return 1
  for (let length = mark.length - 1; length >= (pasting ? 1 : 2); length--) {
    if (text.endsWith(mark.slice(0, length))) return length
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

/** A line as it was meant. */
export function decodePasted(line: string): string {
  return line.replaceAll(SYMBOLS['\n'], '\n').replaceAll(SYMBOLS['\t'], '\t')
}

/** The text of a line that goes on in the next one: it ends in a backslash that is not itself one that is meant. */
export function parseContinuation(line: string): string | undefined {
  const [slashes = ''] = /\\*$/.exec(line) ?? []
  return slashes.length % 2 === 1 ? line.slice(0, -1) : undefined
}
