import type { RequestMark, RequestProgress, ResponseHead } from '../../kernel/request-progress.ts'
import type { World } from '../../kernel/world.ts'

/** Between two writes of a mark while a response arrives: what arrived since then is estimated by the time. */
const WRITE_INTERVAL_MS = 100

/** Tracks how far a request got, and marks it where the mark survives the process. */
export class RequestTracker {
  readonly progress: RequestProgress = { received_chars: 0 }
  /** The last time that bytes arrived, as `world.monotonic()`: a clock that jumps makes no response stall. */
  heardAt: number | undefined
  readonly #world: World
  readonly #mark: RequestMark | undefined
  #writtenAt = 0
  #isReported = false

  constructor(world: World, mark: RequestMark | undefined) {
    this.#world = world
    this.#mark = mark
  }

  willReportSend(): void {
    this.#isReported = true
  }

  /** Called when the model has begun: one that does not report may have sent the request. */
  assumeSent(): void {
    if (!this.#isReported) this.onSend()
  }

  onSend(): void {
    if (this.progress.sent_at !== undefined) return
    this.progress.sent_at = this.#world.now()
    this.#write(this.#world.monotonic())
  }

  /** Bytes or a chunk arrived, with this many characters of content. */
  onReceive(chars: number): void {
    this.onSend()
    this.heardAt = this.#world.monotonic()
    const now = this.#world.now()
    const isFirst = this.progress.received_at === undefined
    this.progress.received_at ??= now
    this.progress.last_received_at = now
    this.progress.received_chars += chars
    // Readers of the marks have to see that bytes arrive, also if no more of them follow.
    if (isFirst || this.heardAt - this.#writtenAt >= WRITE_INTERVAL_MS) this.#write(this.heardAt)
  }

  onHead(head: ResponseHead): void {
    this.progress.head = head
  }

  close(isCommitted: () => boolean): void {
    if (this.progress.sent_at !== undefined) this.#mark?.close(isCommitted)
  }

  #write(time: number): void {
    this.#writtenAt = time
    this.#mark?.write(this.progress)
  }
}
