import type { Interface } from 'node:readline'
import { displayWidth } from '../render/text-width.ts'
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
 * Where people type while a team talks. Lines that stay are written above the place where they type; below them, and above
 * that place, stands what is being said now, drawn anew.
 * 1. What a person has typed so far survives every line that is written.
 * 2. A drawn line never stays: it is erased before anything else is written.
 * 3. The terminal is left as it was found, however the process ends or is put aside.
 */

export interface ConsoleHandlers {
  line(text: string): void
  interrupt(): void
  /** Nothing more can be typed. */
  end(): void
  /** What may come after this beginning of a line. */
  complete(line: string): string[]
}

/** Where words are read from and written to. */
export interface ChatConsole {
  print(lines: readonly string[]): void
  note(lines: readonly string[]): void
  /** Drawn below what stays; in a pipe nothing. */
  live(lines: readonly string[]): void
  close(): void
}

const PROMPT = '› '

export class InteractiveConsole implements ChatConsole {
  readonly #terminal: Terminal
  readonly #reader: Interface
  #drawn: readonly string[] = []
  #begun = ''
  #closed = false

  private constructor(terminal: Terminal, reader: Interface) {
    this.#terminal = terminal
    this.#reader = reader
  }

  static async open(terminal: Terminal, events: ConsoleHandlers): Promise<InteractiveConsole> {
    const { createInterface } = await import('node:readline')
    const reader = createInterface({
      input: terminal.live ? await filterPastedInput(process.stdin) : process.stdin,
      output: process.stderr,
      // Without moves the terminal itself does the editing.
      terminal: terminal.live,
      prompt: terminal.err.paint('green', PROMPT),
      completer: (line: string) => [events.complete(line), line],
    })
    const console = new InteractiveConsole(terminal, reader)
    reader.on('line', (text) => {
      console.#entered(text)
      const part = parseContinuation(text)
      if (part === undefined) events.line(decodePasted(console.#whole(text)))
      else console.#goesOn(part)
    })
    reader.on('SIGINT', () => {
      if (reader.line === '') events.interrupt()
      else reader.write(null, { ctrl: true, name: 'u' })
    })
    reader.on('close', () => {
      if (!console.#closed) events.end()
    })
    if (terminal.live) {
      reader.on('SIGTSTP', () => console.#putAside())
      process.on('exit', () => console.#leaveTerminal())
      terminal.draw(ENABLE_BRACKETED_PASTE)
      reader.prompt()
    }
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
    this.#leaveTerminal()
    this.#closed = true
    this.#reader.close()
    process.stdin.unpipe().pause()
  }

  #leaveTerminal(): void {
    if (this.#terminal.live && !this.#closed) this.#terminal.draw(DISABLE_BRACKETED_PASTE)
  }

  /** Ctrl-Z stops whoever started this too, as the terminal would; readline alone would read nothing more after `fg`. */
  #putAside(): void {
    this.#erase()
    this.#leaveTerminal()
    process.stdin.setRawMode(false)
    process.once('SIGCONT', () => {
      if (this.#closed) return
      process.stdin.setRawMode(true)
      this.#terminal.draw(ENABLE_BRACKETED_PASTE)
      this.#draw()
    })
    process.kill(0, 'SIGTSTP')
  }

  #whole(text: string): string {
    const whole = this.#begun + text
    this.#begun = ''
    return whole
  }

  /** A line that goes on is put back, where it can still be changed; a terminal that edits by itself has it no more. */
  #goesOn(part: string): void {
    if (this.#terminal.live) this.#reader.write(part + NEWLINE_SYMBOL)
    else this.#begun += `${part}\n`
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
    // A line that just fills its last row has the cursor on the next one.
    const rows = Math.floor((PROMPT.length + displayWidth(text)) / width) + 1
    this.#terminal.draw(`\r\x1b[${rows + this.#drawn.length}A\x1b[0J`)
    this.#drawn = []
    this.#reader.prompt(true)
  }
}

/** What is typed, with what is pasted kept within a line. */
async function filterPastedInput(stdin: NodeJS.ReadStream): Promise<NodeJS.ReadableStream> {
  const { Transform } = await import('node:stream')
  const filter = createPasteFilter()
  const input = new Transform({
    decodeStrings: false,
    transform: (chunk: Buffer | string, _, done) => done(null, filter(chunk.toString())),
  })
  stdin.setEncoding('utf8').pipe(input)
  return Object.assign(input, { setRawMode: (on: boolean) => stdin.setRawMode(on) })
}
