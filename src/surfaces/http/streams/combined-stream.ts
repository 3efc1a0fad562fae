import type { SseProducer } from './sse-connection.ts'
import { encodeFrame } from './sse-connection.ts'

/*
 * Several streams over one connection: browsers open at most six to a server, for all tabs together.
 * A frame of a run comes right after a frame `run` that names it; frames without one are those of the lists. The frames themselves are those that
 * single streams send, so that they are encoded once for all clients.
 */

/** Streams of runs by the id of the run, and others without one. */
export interface CombinedParts {
  runs: ReadonlyMap<string, SseProducer>
  others: readonly SseProducer[]
}

/** Ends when all of its parts have ended, and breaks with the first that breaks. */
export function combinedStream({ runs, others }: CombinedParts): SseProducer {
  return async (client) => {
    const broken = new AbortController()
    const signal = AbortSignal.any([client.signal, broken.signal])
    const ofRuns = [...runs].map(([run_id, produce]) => {
      const mark = encodeFrame({ event: 'run', data: { run_id } })
      return produce({
        signal,
        write(frame) {
          // Both at once: a frame of another part must not come in between.
          void client.write(mark)
          return client.write(frame)
        },
      })
    })
    const all = [...ofRuns, ...others.map((produce) => produce({ signal, write: (frame) => client.write(frame) }))]
    try {
      await Promise.all(all)
    } finally {
      broken.abort()
      await Promise.allSettled(all)
    }
  }
}
