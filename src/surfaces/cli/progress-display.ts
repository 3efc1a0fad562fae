import type { StreamItem } from '../../index.ts'
import { newRunView, reduceRun } from '../../views/run-reducer.ts'
import type { RunView } from '../../views/run-view.ts'
import { formatProgressLine, liveLines } from './render/run-progress.ts'
import type { Terminal } from './terminal.ts'

/*
 * Tells what a run does while it does it. Lines that stay are the same on a terminal and in a pipe; a terminal also has
 * a block below them, drawn anew a few times a second, with the sessions at work. Words of answers appear only there,
 * one line for each session: parallel answers never mix.
 */

const REDRAW_MS = 100
const TEXT_TAIL_LENGTH = 400

export class ProgressDisplay {
  readonly view: RunView = newRunView()
  readonly #terminal: Terminal
  readonly #silent: boolean
  readonly #after: number
  readonly #words = new Map<string, string>()
  #drawn = 0
  #timer: NodeJS.Timeout | undefined

  /** Events up to `after` are history: they are known, but not told. */
  constructor(terminal: Terminal, options: { after?: number; silent?: boolean } = {}) {
    this.#terminal = terminal
    this.#silent = options.silent ?? false
    this.#after = options.after ?? 0
    if (terminal.live && !this.#silent) this.#timer = setInterval(() => this.#redraw(), REDRAW_MS).unref()
  }

  update(signal: StreamItem): void {
    if ('delta' in signal) {
      const { session_id, offset, text } = signal.delta
      const before = offset === 0 ? '' : (this.#words.get(session_id) ?? '')
      this.#words.set(session_id, (before + text).slice(-TEXT_TAIL_LENGTH))
      return
    }
    const { event } = signal
    reduceRun(this.view, event)
    if (event.type === 'session:end' && event.session_id) this.#words.delete(event.session_id)
    if (this.#silent || event.seq <= this.#after) return
    const said = formatProgressLine(event, this.view, this.#terminal.err)
    if (said !== undefined) this.note(said)
  }

  /** A line that stays, above what is drawn anew. */
  note(text: string): void {
    this.#erase()
    this.#terminal.note(text)
  }

  end(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#erase()
  }

  #redraw(): void {
    this.#erase()
    const { width, paint } = this.#terminal.err
    const lines = liveLines(this.view, this.#words, { now: Date.now(), style: { width: width - 1, paint } })
    if (lines.length === 0) return
    this.#terminal.draw(`${lines.join('\n')}\n`)
    this.#drawn = lines.length
  }

  #erase(): void {
    // The terminal may have echoed a key (^C) after the block, so the column is not known.
    if (this.#drawn > 0) this.#terminal.draw(`\r\x1b[${this.#drawn}A\x1b[0J`)
    this.#drawn = 0
  }
}
