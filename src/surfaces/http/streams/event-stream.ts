import type { Event } from '../../../index.ts'
import type { RunSource } from './run-events.ts'
import { followEvents } from './run-events.ts'
import type { SseProducer } from './sse-connection.ts'
import { encodeFrame } from './sse-connection.ts'
import type { StoreWatcher } from './store-watcher.ts'

/**
 * Frames of events, encoded once for all clients: watchers of a run share the event objects (`troupe.watch`), and a frame lives as long as
 * its event.
 */
const frames = new WeakMap<Event, Uint8Array>()

function eventFrame(event: Event): Uint8Array {
  const known = frames.get(event)
  if (known) return known
  const frame = encodeFrame({ id: event.seq, data: event })
  frames.set(event, frame)
  return frame
}

/** Streams the events of a run after a seq, each with its seq as `id`. */
export function eventStream(
  parts: { troupe: RunSource; watcher: StoreWatcher },
  run_id: string,
  after: number,
): SseProducer {
  return async (client) => {
    const events = followEvents(parts, run_id, { after, signal: client.signal })
    for (;;) {
      const next = await events.next()
      if (next.done) {
        if (next.value === 'gone') await client.write(encodeFrame({ event: 'gone', data: { run_id } }))
        return
      }
      const full = client.write(eventFrame(next.value))
      if (full) await full
    }
  }
}
