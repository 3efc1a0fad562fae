import type { Terminal } from '../terminal.ts'
import type { Console } from './console.ts'
import { continued } from './paste.ts'

/** Plain lines, for pipes and for programs. */
export function pipeConsole(terminal: Terminal): Console {
  return {
    print(lines) {
      for (const text of lines) terminal.print(text)
    },
    note(lines) {
      for (const text of lines) terminal.note(text)
    },
    live() {},
    close() {},
  }
}

/** The lines of stdin, each when it is asked for, until nobody wants more. */
export async function* linesIn(signal: AbortSignal): AsyncGenerator<string, void> {
  const { createInterface } = await import('node:readline')
  const reader = createInterface({ input: process.stdin, terminal: false, signal })
  try {
    let held = ''
    for await (const text of reader) {
      const part = continued(text)
      if (part === undefined) yield held + text
      held = part === undefined ? '' : `${held}${part}\n`
    }
    if (held !== '') yield held
  } finally {
    reader.close()
  }
}
