import type { Troupe } from '../../../index.ts'
import { combinedStream } from './combined-stream.ts'
import { eventStream } from './event-stream.ts'
import { RunListFeed } from './list-stream.ts'
import type { SseOptions, SseProducer } from './sse-connection.ts'
import { DEFAULT_SSE_OPTIONS } from './sse-connection.ts'
import type { StreamConnection } from './sse-response.ts'
import { sseResponse } from './sse-response.ts'
import { StoreWatcher } from './store-watcher.ts'
import type { FeedOptions, TimelineFold } from './timeline-feed.ts'
import { DEFAULT_FEED_OPTIONS } from './timeline-feed.ts'
import { TimelineFeeds, timelineStream } from './timeline-stream.ts'

export interface ServerStreamOptions extends SseOptions, FeedOptions {
  /** Changes of the store are looked at no more often than this. */
  debounce_ms: number
  /** A feed without clients is kept for this time. */
  linger_ms: number
}

export const DEFAULT_STREAM_OPTIONS: ServerStreamOptions = {
  ...DEFAULT_SSE_OPTIONS,
  ...DEFAULT_FEED_OPTIONS,
  debounce_ms: 250,
  linger_ms: 10_000,
}

export interface StreamSource {
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
  /** The timelines of several runs and the lists, over one connection. */
  combined(runs: ReadonlyMap<string, number | undefined>): SseProducer
  /** The response of a stream. */
  respond(produce: SseProducer, connection?: Partial<StreamConnection>): Response
  /** The number of timelines that are kept. */
  readonly feeds: number
  /** Ends all streams. */
  close(): void
}

export function createStreams({ troupe, newFold, options: given }: StreamSource): Streams {
  const options = { ...DEFAULT_STREAM_OPTIONS, ...given }
  const watcher = new StoreWatcher(troupe, options.debounce_ms)
  const feeds = new TimelineFeeds({ troupe, watcher, newFold }, options)
  const lists = new RunListFeed(troupe, watcher)
  const closing = new AbortController()
  return {
    get feeds() {
      return feeds.size
    },
    events: (run_id, after) => eventStream({ troupe, watcher }, run_id, after),
    timeline: (run_id, after) => timelineStream(feeds, run_id, after),
    lists: () => lists.stream(),
    combined: (runs) =>
      combinedStream({
        runs: new Map([...runs].map(([run_id, after]) => [run_id, timelineStream(feeds, run_id, after)])),
        others: [lists.stream()],
      }),
    respond: (produce, connection) => sseResponse(produce, { options, signal: closing.signal, ...connection }),
    close() {
      closing.abort()
      feeds.close()
      lists.close()
    },
  }
}
