import { TroupeError } from '../../errors.ts'
import type { Model, ModelChunk, ModelRequest } from '../../kernel/model.ts'
import type { ResponseHead, TransportObserver } from '../../kernel/request-progress.ts'
import type { World } from '../../kernel/world.ts'
import type { RequestTracker } from './request-tracker.ts'

/** Shorter than the time after which a request is not retried. A server that waits for its model sends signs of life. */
export const DEFAULT_IDLE_TIMEOUT_MS = 4 * 60 * 1000
/** Between two chunks, even if the server sends signs of life. */
export const CHUNK_TIMEOUT_MS = 10 * 60 * 1000

export interface StreamOptions {
  world: World
  signal: AbortSignal
  tracker: RequestTracker
  idle_timeout_ms: number
  /** Takes a chunk; `stop` ends the stream as if it were the last. */
  onChunk(chunk: ModelChunk): 'stop' | undefined
  /** Takes the number of characters that arrived for a later chunk. */
  onPartialChunk(chars: number): 'stop' | undefined
}

/**
 * Streaming: reads a model's stream to its end. An abort or the idle timeout rejects at once, even if the model ignores its signal;
 * chunks that arrive later are dropped.
 */
export async function readModelStream(model: Model, request: ModelRequest, options: StreamOptions): Promise<void> {
  const reading = new StreamReading(options)
  try {
    reading.start(model, request)
    await reading.end
  } finally {
    reading.close()
  }
}

class StreamReading implements TransportObserver {
  readonly #options: StreamOptions
  readonly #controller = new AbortController()
  readonly #end = Promise.withResolvers<void>()
  readonly #onAbort = () => this.#stop(this.#options.signal.reason)
  readonly #startedAt: number
  #lastChunkAt: number
  #isStopped = false
  #cancelTimer: () => void

  constructor(options: StreamOptions) {
    const { world, signal, idle_timeout_ms } = options
    this.#options = options
    this.#startedAt = world.monotonic()
    this.#lastChunkAt = this.#startedAt
    this.#cancelTimer = world.after(idle_timeout_ms, () => this.#checkIdle())
    signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** Resolves with the end of the stream. */
  get end(): Promise<void> {
    return this.#end.promise
  }

  start(model: Model, request: ModelRequest): void {
    const reading = this.#readChunks(model, request)
    this.#options.tracker.assumeSent()
    reading.then(this.#end.resolve, this.#end.reject)
  }

  close(): void {
    this.#cancelTimer()
    this.#options.signal.removeEventListener('abort', this.#onAbort)
  }

  willReportSend(): void {
    this.#options.tracker.willReportSend()
  }

  onSend(): void {
    this.#options.tracker.onSend()
  }

  onHead(head: ResponseHead): void {
    this.#options.tracker.onHead(head)
  }

  onReceive(chars: number): void {
    const { world, tracker, onPartialChunk } = this.#options
    tracker.onReceive(chars)
    if (chars === 0) return
    this.#lastChunkAt = world.monotonic()
    if (this.#isStopped || onPartialChunk(chars) !== 'stop') return
    this.#isStopped = true
    this.#controller.abort()
    this.#end.resolve()
  }

  async #readChunks(model: Model, request: ModelRequest): Promise<void> {
    const { world, tracker, onChunk } = this.#options
    for await (const chunk of model.stream(request, this.#controller.signal, this)) {
      if (this.#isStopped) return
      this.#lastChunkAt = world.monotonic()
      tracker.onReceive('text' in chunk ? chunk.text.length : 0)
      if (onChunk(chunk) === 'stop') return this.#controller.abort()
    }
  }

  #stop(reason: unknown): void {
    this.#isStopped = true
    this.#controller.abort(reason)
    this.#end.reject(reason)
  }

  #checkIdle(): void {
    const { world, tracker, idle_timeout_ms } = this.#options
    const chunk_timeout_ms = Math.max(CHUNK_TIMEOUT_MS, idle_timeout_ms)
    const now = world.monotonic()
    const heardAt = Math.max(this.#lastChunkAt, tracker.heardAt ?? this.#startedAt)
    const untilIdle = idle_timeout_ms - (now - heardAt)
    const left = Math.min(untilIdle, chunk_timeout_ms - (now - this.#lastChunkAt))
    if (left <= 0) this.#stop(untilIdle <= 0 ? silenceError(idle_timeout_ms) : emptyStreamError(chunk_timeout_ms))
    else this.#cancelTimer = world.after(left, () => this.#checkIdle())
  }
}

function silenceError(idle_timeout_ms: number): TroupeError {
  return new TroupeError('stream_interrupted', `the model sent nothing for ${idle_timeout_ms / 1000} s`, {
    hint: 'repeat the model request with `troupe resume RUN`; for a slow server, raise `models.idle_timeout_ms`',
  })
}

function emptyStreamError(chunk_timeout_ms: number): TroupeError {
  const message = `the model kept the connection alive for ${chunk_timeout_ms / 1000} s without a part of its response`
  return new TroupeError('stream_interrupted', message, {
    hint: 'repeat the model request with `troupe resume RUN`, or choose another `model`',
  })
}
