import { stripControlCharacters, wrapText } from '../../views/text-width.ts'
import type { Terminal } from './terminal.ts'

/*
 * The last step before text reaches a terminal. Text of models, tools, files, servers and journals may contain terminal control
 * sequences: they could rewrite what a person is asked to approve, set the clipboard or type for the user (escape injection).
 * 1. Of all control sequences only the colours of `paint` pass, and none where the stream has no colours.
 * 2. `draw` is for cursor control of our own alone: it never gets text.
 */

/** The terminal of a command, on which nothing but text, line breaks, tabs and colours appears. */
export function inertTerminal(terminal: Terminal): Terminal {
  return {
    ...terminal,
    out: terminal.out,
    err: terminal.err,
    // A file or another program gets a result byte for byte.
    print: (text) => terminal.print(terminal.outputIsTTY ? toInertOutput(text) : text),
    note: (text) => terminal.note(toInertOutput(text)),
    noteSync: (text) => terminal.noteSync(toInertOutput(text)),
  }
}

/** The sequences of bold, dim, red, green, yellow and cyan, and their ends. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const COLOUR = /(\u001b\[(?:1|2|22|3[1236]|39)m)/

export function toInertOutput(text: string): string {
  return text
    .split(COLOUR)
    .map((part, index) => (index % 2 === 1 ? part : stripControlCharacters(part)))
    .join('')
}

/** Control characters and bidirectional marks that JSON may contain unescaped. */
const UNESCAPED = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** JSON that a terminal shows as it is: characters that it would obey are escaped, and the value stays the same. */
export function toInertJson(value: unknown, indent?: number): string {
  const json = JSON.stringify(value, null, indent) ?? 'null'
  return json.replace(UNESCAPED, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Warnings of Node about itself, which the user of a command can do nothing about. */
const OF_NODE = new Set(['ExperimentalWarning', 'DeprecationWarning', 'MaxListenersExceededWarning'])

/** Prints warnings like other messages, each once, instead of `(node:4711) Warning: …`. With TROUPE_DEBUG=1 those of Node, too. */
export function printWarningsTo(terminal: Terminal): void {
  const printed = new Set<string>()
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) => {
    if (printed.has(message) || (OF_NODE.has(name) && process.env.TROUPE_DEBUG !== '1')) return
    printed.add(message)
    const text = `warning: ${toInertOutput(message.replace(/^troupe: /, ''))}`
    for (const line of wrapText(text, terminal.err.width, 2)) terminal.note(line)
  })
}
