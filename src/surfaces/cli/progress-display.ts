import type { Pattern } from '../../entries/patterns.ts'
import type { Event, EventData, StreamItem, Troupe } from '../../index.ts'
import { modelChangesText } from '../../views/needs-text.ts'
import { loadPatternViews } from '../../views/pattern-views.ts'
import type { RunView } from '../../views/run-view.ts'
import { isPatternEvent, newRunView, reduceRun } from '../../views/run-view.ts'
import { toTerminalLine, wrapText } from '../../views/text-width.ts'
import type { WaitingRequest } from '../../views/waiting.ts'
import { noticesDue } from '../../views/waiting.ts'
import { formatProgressLine, formatWaitingLine, liveLines } from './render/run-progress.ts'
import type { Terminal } from './terminal.ts'

type ModelChange = NonNullable<EventData['run:attempt']['models']>[number]

/*
 * Shows the progress of a run. Permanent lines are the same on a terminal and in a pipe. A terminal also has a live
 * block below them, redrawn a few times a second, with one line per active session. Streamed text appears only there,
 * so parallel responses never interleave.
 */

const REDRAW_MS = 100
const READ_WAITING_MS = 1000
const TEXT_TAIL_LENGTH = 400

interface ProgressOptions {
  /** Events up to this seq update the view and are not printed. */
  after?: number
  silent?: boolean
  /** The patterns of this process. Definitions and views are imported with the first event that needs them. */
  patterns?: Troupe['patterns']
  /** Reads what the run waits for. */
  readWaiting?: () => Promise<readonly WaitingRequest[]>
  /** Called after 15 s, 60 s, then each minute, instead of printing a line. */
  onWaiting?: (waiting: WaitingRequest) => void
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
  /** The requests that the run waits for, as of a second ago. */
  waiting: readonly WaitingRequest[] = []
  readonly #options: ProgressOptions
  #waitingTimer: NodeJS.Timeout | undefined
  #isReading = false
  /** The number of notices about the waiting requests, by session and beginning. */
  #told = new Map<string, number>()

  constructor(terminal: Terminal, options: ProgressOptions = {}) {
    this.#patterns = options.patterns ?? (async () => [])
    this.#terminal = terminal
    this.#options = options
    this.#silent = options.silent ?? false
    this.#after = options.after ?? 0
    if (terminal.live && !this.#silent) this.#timer = setInterval(() => this.#redraw(), REDRAW_MS).unref()
    if (options.readWaiting) this.#waitingTimer = setInterval(() => void this.#readWaiting(), READ_WAITING_MS).unref()
  }

  async update(item: StreamItem): Promise<void> {
    if ('delta' in item) {
      const { session_id, offset, text } = item.delta
      const previous = offset === 0 ? '' : (this.#streamedText.get(session_id) ?? '')
      this.#streamedText.set(session_id, (previous + text).slice(-TEXT_TAIL_LENGTH))
      return
    }
    if ('waiting' in item) return
    const { event } = item
    await this.#loadViews(event)
    reduceRun(this.view, event)
    if (event.type === 'session:end' && event.session_id) this.#streamedText.delete(event.session_id)
    if (event.type === 'model:begin') void this.#readWaiting()
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
    clearInterval(this.#waitingTimer)
    this.#timer = undefined
    this.#waitingTimer = undefined
    this.#erase()
  }

  async #readWaiting(): Promise<void> {
    if (this.#isReading || !this.#waitingTimer) return
    this.#isReading = true
    try {
      this.waiting = (await this.#options.readWaiting?.()) ?? []
      if (this.#waitingTimer) this.#tellWaiting(Date.now())
    } catch {
      // The reader of the events reports a store that cannot be read.
    } finally {
      this.#isReading = false
    }
  }

  /** A terminal shows in its live block what the run waits for. */
  #tellWaiting(now: number): void {
    const { onWaiting } = this.#options
    const told = new Map<string, number>()
    for (const request of this.waiting) {
      const name = `${request.session_id} ${request.since}`
      const count = noticesDue(now - request.since)
      const isDue = count > (this.#told.get(name) ?? 0)
      told.set(name, count)
      if (isDue && onWaiting) onWaiting(request)
      else if (isDue && !this.#silent && !this.#terminal.live)
        this.note(formatWaitingLine(request, this.view, { now, style: this.#terminal.err }))
    }
    this.#told = told
  }

  #redraw(): void {
    this.#erase()
    const { width, paint } = this.#terminal.err
    const lines = liveLines(this.view, this.#streamedText, {
      ...{ now: Date.now(), style: { width: width - 1, paint }, waiting: this.waiting },
    })
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
