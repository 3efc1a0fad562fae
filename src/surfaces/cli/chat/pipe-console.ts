import type { Terminal } from '../terminal.ts'
import { parseContinuation } from './bracketed-paste.ts'
import type { ChatConsole } from './chat-console.ts'

/** Plain lines, for pipes and for programs. */
export function createPipeConsole(terminal: Terminal): ChatConsole {
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
export async function* readStdinLines(signal: AbortSignal): AsyncGenerator<string, void> {
  const { createInterface } = await import('node:readline')
  const reader = createInterface({ input: process.stdin, terminal: false, signal })
  try {
    let held = ''
    for await (const text of reader) {
      const part = parseContinuation(text)
      if (part === undefined) yield held + text
      held = part === undefined ? '' : `${held}${part}\n`
    }
    if (held !== '') yield held
  } finally {
    reader.close()
  }
}
