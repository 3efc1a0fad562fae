import { TroupeError } from '../../errors.ts'
import type { Model, ModelChunk, ModelRequest } from '../../kernel/model.ts'
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
  const { world, signal, tracker, idle_timeout_ms, onChunk } = options
  const controller = new AbortController()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let stopped = false
  const stop = (reason: unknown) => {
    stopped = true
    controller.abort(reason)
    reject(reason)
  }
  const onAbort = () => stop(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  const chunk_timeout_ms = Math.max(CHUNK_TIMEOUT_MS, idle_timeout_ms)
  const startedAt = world.monotonic()
  let lastChunkAt = startedAt
  const checkIdle = () => {
    const now = world.monotonic()
    const heardAt = Math.max(lastChunkAt, tracker.heardAt ?? startedAt)
    const untilIdle = idle_timeout_ms - (now - heardAt)
    const left = Math.min(untilIdle, chunk_timeout_ms - (now - lastChunkAt))
    if (left <= 0) stop(untilIdle <= 0 ? silenceError(idle_timeout_ms) : emptyStreamError(chunk_timeout_ms))
    else cancelTimer = world.after(left, checkIdle)
  }
  let cancelTimer = world.after(idle_timeout_ms, checkIdle)
  tracker.onContent = (chars) => {
    lastChunkAt = world.monotonic()
    if (stopped || options.onPartialChunk(chars) !== 'stop') return
    stopped = true
    controller.abort()
    resolve()
  }
  const readChunks = async () => {
    for await (const chunk of model.stream(request, controller.signal, tracker)) {
      if (stopped) return
      lastChunkAt = world.monotonic()
      tracker.addChunk('text' in chunk ? chunk.text.length : 0)
      if (onChunk(chunk) === 'stop') return controller.abort()
    }
  }
  try {
    const reading = readChunks()
    tracker.assumeSent()
    reading.then(resolve, reject)
    await promise
  } finally {
    cancelTimer()
    signal.removeEventListener('abort', onAbort)
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
