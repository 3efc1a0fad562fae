import type { Interface } from 'node:readline'
import { displayWidth } from '../../../views/text-width.ts'
import type { Terminal } from '../terminal.ts'
import {
  createPasteFilter,
  DISABLE_BRACKETED_PASTE,
  decodePasted,
  ENABLE_BRACKETED_PASTE,
  NEWLINE_SYMBOL,
  parseContinuation,
} from './bracketed-paste.ts'

/*
 * Interactive chat console: permanent lines, below them a live block with streamed text, below that the prompt.
 * 1. Output never loses what the user has typed so far.
 * 2. The live block is erased before anything else is written.
 * 3. Terminal modes are restored on exit and on suspend (Ctrl-Z).
 */

export interface ConsoleHandlers {
  /** The first key of a line. */
  onTyping(): void
  onLine(text: string): void
  onInterrupt(): void
  /** End of input (Ctrl-D). */
  onEnd(): void
  /** Tab completions of a line. */
  complete(line: string): string[]
}

export interface ChatConsole {
  print(lines: readonly string[]): void
  note(lines: readonly string[]): void
  /** Replaces the live block; ignored in a pipe. */
  live(lines: readonly string[]): void
  close(): void
}

const PROMPT = '› '

export class InteractiveConsole implements ChatConsole {
  readonly #terminal: Terminal
  readonly #reader: Interface
  #liveLines: readonly string[] = []
  #pending = ''
  #closed = false

  private constructor(terminal: Terminal, reader: Interface) {
    this.#terminal = terminal
    this.#reader = reader
  }

  static async open(terminal: Terminal, handlers: ConsoleHandlers): Promise<InteractiveConsole> {
    const { createInterface } = await import('node:readline')
    const reader = createInterface({
      input: terminal.live ? await filterPastedInput(process.stdin) : process.stdin,
      output: process.stderr,
      // Without cursor control the terminal driver does the line editing.
      terminal: terminal.live,
      prompt: terminal.err.paint('green', PROMPT),
      completer: (line: string) => [handlers.complete(line), line],
    })
    const console = new InteractiveConsole(terminal, reader)
    reader.on('line', (text) => {
      console.#eraseInput(text)
      const part = parseContinuation(text)
      if (part === undefined) handlers.onLine(decodePasted(console.#joinLine(text)))
      else console.#continueLine(part)
    })
    reportTyping(reader, handlers)
    reader.on('SIGINT', () => {
      if (reader.line === '') handlers.onInterrupt()
      else reader.write(null, { ctrl: true, name: 'u' })
    })
    reader.on('close', () => {
      if (!console.#closed) handlers.onEnd()
    })
    if (terminal.live) {
      reader.on('SIGTSTP', () => console.#suspend())
      process.on('exit', () => console.#restoreTerminal())
      terminal.draw(ENABLE_BRACKETED_PASTE)
      reader.prompt()
    }
    return console
  }

  print(lines: readonly string[]): void {
    this.#writeAbove(() => {
      for (const text of lines) this.#terminal.print(text)
    })
  }

  note(lines: readonly string[]): void {
    this.#writeAbove(() => {
      for (const text of lines) this.#terminal.note(text)
    })
  }

  live(lines: readonly string[]): void {
    if (!this.#terminal.live || this.#closed) return
    if (lines.length === this.#liveLines.length && lines.every((text, index) => text === this.#liveLines[index])) return
    this.#erase()
    this.#liveLines = lines
    this.#draw()
  }

  close(): void {
    if (this.#closed) return
    this.#erase()
    this.#restoreTerminal()
    this.#closed = true
    this.#reader.close()
    process.stdin.unpipe().pause()
  }

  #restoreTerminal(): void {
    if (this.#terminal.live && !this.#closed) this.#terminal.draw(DISABLE_BRACKETED_PASTE)
  }

  /** Suspends the whole process group (Ctrl-Z), as the terminal would; readline alone stops reading after `fg`. */
  #suspend(): void {
    this.#erase()
    this.#restoreTerminal()
    process.stdin.setRawMode(false)
    process.once('SIGCONT', () => {
      if (this.#closed) return
      process.stdin.setRawMode(true)
      this.#terminal.draw(ENABLE_BRACKETED_PASTE)
      this.#draw()
    })
    process.kill(0, 'SIGTSTP')
  }

  #joinLine(text: string): string {
    const line = this.#pending + text
    this.#pending = ''
    return line
  }

  /** Puts a continued line back into the prompt for editing; without cursor control it is buffered. */
  #continueLine(part: string): void {
    if (this.#terminal.live) this.#reader.write(part + NEWLINE_SYMBOL)
    else this.#pending += `${part}\n`
  }

  #writeAbove(write: () => void): void {
    if (!this.#terminal.live || this.#closed) {
      write()
      return
    }
    this.#erase()
    write()
    this.#draw()
  }

  #erase(): void {
    if (!this.#terminal.live || this.#closed) return
    const rows = this.#reader.getCursorPos().rows + this.#liveLines.length
    this.#terminal.draw(rows > 0 ? `\r\x1b[${rows}A\x1b[0J` : '\r\x1b[0J')
  }

  #draw(): void {
    if (this.#liveLines.length > 0) this.#terminal.note(this.#liveLines.join('\n'))
    // readline would move up by the rows of the old input and erase the new output.
    Object.assign(this.#reader, { prevRows: 0 })
    this.#reader.prompt(true)
  }

  /** Erases the entered line and the live block above it. */
  #eraseInput(text: string): void {
    if (!this.#terminal.live) return
    const { width } = this.#terminal.err
    // A line that exactly fills its last row leaves the cursor on the next one.
    const rows = Math.floor((PROMPT.length + displayWidth(text)) / width) + 1
    this.#terminal.draw(`\r\x1b[${rows + this.#liveLines.length}A\x1b[0J`)
    this.#liveLines = []
    this.#reader.prompt(true)
  }
}

/** readline has handled a key before this listener sees it. */
function reportTyping(reader: Interface & { input?: NodeJS.ReadableStream }, { onTyping }: ConsoleHandlers): void {
  let wasEmpty = true
  reader.input?.on('keypress', () => {
    const isEmpty = reader.line === ''
    if (wasEmpty && !isEmpty) onTyping()
    wasEmpty = isEmpty
  })
}

async function filterPastedInput(stdin: NodeJS.ReadStream): Promise<NodeJS.ReadableStream> {
  const { Transform } = await import('node:stream')
  const filter = createPasteFilter()
  const input = new Transform({
    decodeStrings: false,
    transform: (chunk: Buffer | string, _, done) => done(null, filter(chunk.toString())),
  })
  stdin.setEncoding('utf8').pipe(input)
  return Object.assign(input, { setRawMode: (isRaw: boolean) => stdin.setRawMode(isRaw) })
}
