import { TroupeError } from '../../errors.ts'
import type { Model, ModelChunk, ModelRequest } from '../model.ts'
import type { World } from '../world.ts'

/** A model that says nothing for so long is taken to have gone; thinking models do speak up in between. */
export const STREAM_IDLE_TIMEOUT_MS = 10 * 60 * 1000

/** Hears a model out, chunk by chunk. One that falls silent, or does not listen to an abort, is left behind. */
export async function readModelStream(
  model: Model,
  request: ModelRequest,
  at: { world: World; signal: AbortSignal },
  hear: (chunk: ModelChunk) => void,
): Promise<void> {
  const { world, signal } = at
  const own = new AbortController()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let left = false
  const leave = (reason: unknown) => {
    left = true
    own.abort(reason)
    reject(reason)
  }
  const aborted = () => leave(signal.reason)
  signal.addEventListener('abort', aborted, { once: true })
  let heard = world.now()
  const look = () => {
    const silent = world.now() - heard
    if (silent >= STREAM_IDLE_TIMEOUT_MS) leave(idleTimeoutError())
    else cancel = world.after(STREAM_IDLE_TIMEOUT_MS - silent, look)
  }
  let cancel = world.after(STREAM_IDLE_TIMEOUT_MS, look)
  const hearOut = async () => {
    for await (const chunk of model.stream(request, own.signal)) {
      if (left) return
      heard = world.now()
      hear(chunk)
    }
  }
  try {
    hearOut().then(resolve, reject)
    await promise
  } finally {
    cancel()
    signal.removeEventListener('abort', aborted)
  }
}

function idleTimeoutError(): TroupeError {
  return new TroupeError(
    'stream_interrupted',
    `the model said nothing for ${STREAM_IDLE_TIMEOUT_MS / 60_000} minutes`,
    {
      hint: 'what had arrived is kept in the journal; resume the run to ask again',
    },
  )
}
