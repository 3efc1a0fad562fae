import type { Terminal } from '../terminal.ts'
import { parseContinuation } from './bracketed-paste.ts'
import type { ChatConsole } from './chat-console.ts'

/** Plain output for pipes and `--json`. */
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

/** The lines of stdin, read on demand (back-pressure), with trailing backslashes joined. */
export async function* readStdinLines(signal: AbortSignal): AsyncGenerator<string, void> {
  const { createInterface } = await import('node:readline')
  const reader = createInterface({ input: process.stdin, terminal: false, signal })
  try {
    let continued = ''
    for await (const text of reader) {
      const part = parseContinuation(text)
      if (part === undefined) yield continued + text
      continued = part === undefined ? '' : `${continued}${part}\n`
    }
    if (continued !== '') yield continued
  } finally {
    reader.close()
  }
}
