import type { Troupe } from '../../../index.ts'
import { eventStream } from './event-stream.ts'
import { RunListFeed } from './list-stream.ts'
import type { SseOptions, SseProducer } from './sse-connection.ts'
import { DEFAULT_SSE_OPTIONS, SSE_HEADERS, sseBody } from './sse-connection.ts'
import { StoreWatcher } from './store-watcher.ts'
import type { FeedOptions, TimelineFold } from './timeline-feed.ts'
import { DEFAULT_FEED_OPTIONS } from './timeline-feed.ts'
import { TimelineFeeds, timelineStream } from './timeline-stream.ts'

export interface ServerStreamOptions extends SseOptions, FeedOptions {
  /** Changes of the store are looked at no more often than this. */
  debounce_ms: number
  /** A feed without clients is kept for this time. */
  linger_ms: number
  /** Streams that one principal may have open at the same time. */
  streams_per_principal: number
}

export const DEFAULT_STREAM_OPTIONS: ServerStreamOptions = {
  ...DEFAULT_SSE_OPTIONS,
  ...DEFAULT_FEED_OPTIONS,
  debounce_ms: 250,
  linger_ms: 10_000,
  streams_per_principal: 32,
}

export interface StreamParts {
  troupe: Pick<Troupe, 'watch' | 'getRun' | 'onChange' | 'runs'>
  newFold(): Promise<TimelineFold>
  options?: Partial<ServerStreamOptions> | undefined
}

/** The live streams of a server. */
export interface Streams {
  events(run_id: string, after: number): SseProducer
  /** Without `after` it begins with a snapshot. */
  timeline(run_id: string, after: number | undefined): SseProducer
  lists(): SseProducer
  /** The response of a stream; `undefined` if the principal has too many open. */
  respond(principal: string, produce: SseProducer, headers?: Readonly<Record<string, string>>): Response | undefined
  readonly options: ServerStreamOptions
  /** Timelines that are kept, for tests. */
  readonly feeds: number
  /** Ends all streams. */
  close(): void
}

export function createStreams({ troupe, newFold, options: given }: StreamParts): Streams {
  const options = { ...DEFAULT_STREAM_OPTIONS, ...given }
  const watcher = new StoreWatcher(troupe, options.debounce_ms)
  const feeds = new TimelineFeeds({ troupe, watcher, newFold }, options)
  const lists = new RunListFeed(troupe, watcher)
  const closing = new AbortController()
  const openStreams = new Map<string, number>()
  const count = (principal: string, change: number) => {
    const streams = (openStreams.get(principal) ?? 0) + change
    if (streams > 0) openStreams.set(principal, streams)
    else openStreams.delete(principal)
  }
  return {
    options,
    get feeds() {
      return feeds.size
    },
    events: (run_id, after) => eventStream({ troupe, watcher }, run_id, after),
    timeline: (run_id, after) => timelineStream(feeds, run_id, after),
    lists: () => lists.stream(),
    respond(principal, produce, headers) {
      if ((openStreams.get(principal) ?? 0) >= options.streams_per_principal) return undefined
      count(principal, 1)
      const countStream: SseProducer = async (client) => {
        try {
          await produce({
            write: (frame) => client.write(frame),
            signal: AbortSignal.any([client.signal, closing.signal]),
          })
        } finally {
          count(principal, -1)
        }
      }
      return new Response(sseBody(countStream, options), { headers: { ...SSE_HEADERS, ...headers } })
    },
    close() {
      closing.abort()
      feeds.close()
      lists.close()
    },
  }
}
