import type { Event, ModelChange, Pattern, StreamItem, Troupe } from '../../index.ts'
import { modelChangesText } from '../../views/needs-text.ts'
import { loadPatternViews } from '../../views/pattern-views.ts'
import type { RunView } from '../../views/run-view.ts'
import { isPatternEvent, newRunView, reduceRun } from '../../views/run-view.ts'
import { toTerminalLine, wrapText } from '../../views/text-width.ts'
import { formatProgressLine, liveLines } from './render/run-progress.ts'
import type { Terminal } from './terminal.ts'

/*
 * Shows the progress of a run. Permanent lines are the same on a terminal and in a pipe. A terminal also has a live
 * block below them, redrawn a few times a second, with one line per active session. Streamed text appears only there,
 * so parallel responses never interleave.
 */

const REDRAW_MS = 100
const TEXT_TAIL_LENGTH = 400

interface ProgressOptions {
  /** Events up to this seq update the view and are not printed. */
  after?: number
  silent?: boolean
  /** The patterns of this process. Definitions and views are imported with the first event that needs them. */
  patterns?: Troupe['patterns']
}

export class ProgressDisplay {
  readonly view: RunView = newRunView()
  readonly #terminal: Terminal
  readonly #silent: boolean
  readonly #after: number
  readonly #patterns: Troupe['patterns']
  /** Types of the events that views have been looked for. */
  readonly #known = new Set<string>()
  readonly #streamedText = new Map<string, string>()
  #drawnLines = 0
  #timer: NodeJS.Timeout | undefined

  constructor(terminal: Terminal, options: ProgressOptions = {}) {
    this.#patterns = options.patterns ?? (async () => [])
    this.#terminal = terminal
    this.#silent = options.silent ?? false
    this.#after = options.after ?? 0
    if (terminal.live && !this.#silent) this.#timer = setInterval(() => this.#redraw(), REDRAW_MS).unref()
  }

  async update(item: StreamItem): Promise<void> {
    if ('delta' in item) {
      const { session_id, offset, text } = item.delta
      const previous = offset === 0 ? '' : (this.#streamedText.get(session_id) ?? '')
      this.#streamedText.set(session_id, (previous + text).slice(-TEXT_TAIL_LENGTH))
      return
    }
    const { event } = item
    await this.#loadViews(event)
    reduceRun(this.view, event)
    if (event.type === 'session:end' && event.session_id) this.#streamedText.delete(event.session_id)
    if (this.#silent || event.seq <= this.#after) return
    const line = formatProgressLine(event, this.view, this.#terminal.err)
    if (line !== undefined) this.note(line)
    if (event.type === 'run:attempt') this.#noteModels(event.data.models ?? [])
  }

  /** The pattern of a run shows the run; patterns that agents call show their own events. */
  async #loadViews(event: Event): Promise<void> {
    if (event.type === 'run:start') return this.#addViews(await this.#patterns([event.data.pattern]))
    if (!isPatternEvent(event) || this.#known.has(event.type)) return
    this.#known.add(event.type)
    const patterns = await this.#patterns()
    await this.#addViews(patterns.filter(({ events = {} }) => Object.hasOwn(events, event.type)))
  }

  async #addViews(patterns: readonly Pattern[]): Promise<void> {
    const added = patterns.filter(({ name }) => this.view.patterns.every((known) => known.name !== name))
    this.view.patterns.push(...newRunView(await loadPatternViews(added)).patterns)
  }

  #noteModels(changes: readonly ModelChange[]): void {
    const main = changes.find(({ role }) => role === 'default') ?? changes.find(({ role }) => role === 'general')
    if (changes.length === 0) return
    const keep = main ? `; to keep ${main.from}, stop the run and resume it with --model ${main.from}` : ''
    const text = toTerminalLine(
      `the models have changed since the run was last executed: ${modelChangesText(changes)}${keep}`,
    )
    for (const each of wrapText(text, this.#terminal.err.width, 2)) this.note(each)
  }

  /** Prints a permanent line above the live block. */
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
    const lines = liveLines(this.view, this.#streamedText, { now: Date.now(), style: { width: width - 1, paint } })
    if (lines.length === 0) return
    this.#terminal.note(lines.join('\n'))
    this.#drawnLines = lines.length
  }

  #erase(): void {
    // The terminal may have echoed ^C after the block, so the cursor column is unknown.
    if (this.#drawnLines > 0) this.#terminal.draw(`\r\x1b[${this.#drawnLines}A\x1b[0J`)
    this.#drawnLines = 0
  }
}
