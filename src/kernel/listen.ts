import { TroupeError } from '../errors.ts'
import type { Model, ModelChunk, ModelRequest } from './model.ts'
import type { World } from './world.ts'

/** A model that says nothing for so long is taken to have gone; thinking models do speak up in between. */
export const SILENCE_MS = 10 * 60 * 1000

/** Hears a model out, chunk by chunk. One that falls silent, or does not listen to an abort, is left behind. */
export async function listen(
  model: Model,
  request: ModelRequest,
  at: { world: World; signal: AbortSignal },
  hear: (chunk: ModelChunk) => void,
): Promise<void> {
  const { world, signal } = at
  const own = new AbortController()
  const { promise: gone, reject } = Promise.withResolvers<never>()
  gone.catch(() => {})
  const leave = (reason: unknown) => {
    own.abort(reason)
    reject(reason)
  }
  const aborted = () => leave(signal.reason)
  signal.addEventListener('abort', aborted, { once: true })
  let heard = world.now()
  const look = () => {
    const silent = world.now() - heard
    if (silent >= SILENCE_MS) leave(silence())
    else cancel = world.after(SILENCE_MS - silent, look)
  }
  let cancel = world.after(SILENCE_MS, look)
  const iterator = model.stream(request, own.signal)[Symbol.asyncIterator]()
  let done = false
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), gone])
      done = next.done === true
      if (next.done) return
      heard = world.now()
      hear(next.value)
    }
  } finally {
    cancel()
    signal.removeEventListener('abort', aborted)
    if (!done) iterator.return?.()?.catch(() => {})
  }
}

function silence(): TroupeError {
  return new TroupeError('stream_cut', `the model said nothing for ${SILENCE_MS / 60_000} minutes`, {
    hint: 'what had arrived is kept in the journal; resume the run to ask again',
  })
}
