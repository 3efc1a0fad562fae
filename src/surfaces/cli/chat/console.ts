import type { Interface } from 'node:readline'
import { widthOf } from '../render/width.ts'
import type { Terminal } from '../terminal.ts'

/*
 * Where people type while a team talks. Lines that stay are written above the place where they type; below them, and above
 * that place, stands what is being said now, drawn anew.
 * 1. What a person has typed so far survives every line that is written.
 * 2. A drawn line never stays: it is erased before anything else is written.
 */

export interface ConsoleEvents {
  line(text: string): void
  interrupt(): void
  /** Nothing more can be typed. */
  end(): void
  /** What may come after this beginning of a line. */
  complete(line: string): string[]
}

/** Where words are read from and written to. */
export interface Console {
  print(lines: readonly string[]): void
  note(lines: readonly string[]): void
  /** Drawn below what stays; in a pipe nothing. */
  live(lines: readonly string[]): void
  close(): void
}

const PROMPT = '› '

export class TypingConsole implements Console {
  readonly #terminal: Terminal
  readonly #reader: Interface
  #drawn: readonly string[] = []
  #closed = false

  private constructor(terminal: Terminal, reader: Interface) {
    this.#terminal = terminal
    this.#reader = reader
  }

  static async open(terminal: Terminal, events: ConsoleEvents): Promise<TypingConsole> {
    const { createInterface } = await import('node:readline')
    const reader = createInterface({
      input: process.stdin,
      output: process.stderr,
      // Without moves the terminal itself does the editing.
      terminal: terminal.live,
      prompt: terminal.err.paint('green', PROMPT),
      completer: (line: string) => [events.complete(line), line],
    })
    const console = new TypingConsole(terminal, reader)
    reader.on('line', (text) => {
      console.#entered(text)
      events.line(text)
    })
    reader.on('SIGINT', () => {
      if (reader.line === '') events.interrupt()
      else reader.write(null, { ctrl: true, name: 'u' })
    })
    reader.on('close', () => {
      if (!console.#closed) events.end()
    })
    if (terminal.live) reader.prompt()
    return console
  }

  print(lines: readonly string[]): void {
    this.#above(() => {
      for (const text of lines) this.#terminal.print(text)
    })
  }

  note(lines: readonly string[]): void {
    this.#above(() => {
      for (const text of lines) this.#terminal.note(text)
    })
  }

  live(lines: readonly string[]): void {
    if (!this.#terminal.live || this.#closed) return
    if (lines.length === this.#drawn.length && lines.every((text, index) => text === this.#drawn[index])) return
    this.#erase()
    this.#drawn = lines
    this.#draw()
  }

  close(): void {
    if (this.#closed) return
    this.#erase()
    this.#closed = true
    this.#reader.close()
  }

  #above(write: () => void): void {
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
    const up = this.#reader.getCursorPos().rows + this.#drawn.length
    this.#terminal.draw(up > 0 ? `\r\x1b[${up}A\x1b[0J` : '\r\x1b[0J')
  }

  #draw(): void {
    if (this.#drawn.length > 0) this.#terminal.draw(`${this.#drawn.join('\n')}\n`)
    // The reader would go up as many rows as what was typed had taken, and erase what has just been written.
    Object.assign(this.#reader, { prevRows: 0 })
    this.#reader.prompt(true)
  }

  /** After the key that ends a line the place to type is one below it: line and drawing are taken away. */
  #entered(text: string): void {
    if (!this.#terminal.live) return
    const { width } = this.#terminal.err
    const rows = Math.max(1, Math.ceil((PROMPT.length + widthOf(text)) / width))
    this.#terminal.draw(`\r\x1b[${rows + this.#drawn.length}A\x1b[0J`)
    this.#drawn = []
    this.#reader.prompt(true)
  }
}
