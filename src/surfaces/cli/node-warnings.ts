import { wrapText } from '../../views/text-width.ts'
import { toInertOutput } from './inert-output.ts'
import type { Terminal } from './terminal.ts'

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
