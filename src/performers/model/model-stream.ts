import { TroupeError } from '../../errors.ts'
import type { Model, ModelChunk, ModelRequest } from '../../kernel/model.ts'
import type { World } from '../../kernel/world.ts'

/** Idle timeout between two chunks. Reasoning models send chunks while they think, so they do not hit it. */
export const STREAM_IDLE_TIMEOUT_MS = 10 * 60 * 1000

export interface StreamOptions {
  world: World
  signal: AbortSignal
  /** Takes a chunk; `stop` ends the stream as if it were the last. */
  onChunk(chunk: ModelChunk): 'stop' | undefined
}

/**
 * Streaming: reads a model's stream to its end. An abort or the idle timeout rejects at once, even if the model ignores its signal;
 * chunks that arrive later are dropped.
 */
export async function readModelStream(model: Model, request: ModelRequest, options: StreamOptions): Promise<void> {
  const { world, signal, onChunk } = options
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
  let lastChunkAt = world.now()
  const checkIdle = () => {
    const idle = world.now() - lastChunkAt
    if (idle >= STREAM_IDLE_TIMEOUT_MS) stop(idleTimeoutError())
    else cancelTimer = world.after(STREAM_IDLE_TIMEOUT_MS - idle, checkIdle)
  }
  let cancelTimer = world.after(STREAM_IDLE_TIMEOUT_MS, checkIdle)
  const readChunks = async () => {
    for await (const chunk of model.stream(request, controller.signal)) {
      if (stopped) return
      lastChunkAt = world.now()
      if (onChunk(chunk) === 'stop') return controller.abort()
    }
  }
  try {
    readChunks().then(resolve, reject)
    await promise
  } finally {
    cancelTimer()
    signal.removeEventListener('abort', onAbort)
  }
}

function idleTimeoutError(): TroupeError {
  const minutes = STREAM_IDLE_TIMEOUT_MS / 60_000
  return new TroupeError('stream_interrupted', `the model sent nothing for ${minutes} minutes`, {
    hint: 'repeat the model request with `troupe resume RUN`; the partial response is in the journal',
  })
}
