import type { SseClient, SseProducer } from './sse-connection.ts'
import { encodeFrame } from './sse-connection.ts'
import type { FeedOptions, FeedParts } from './timeline-feed.ts'
import { TimelineFeed } from './timeline-feed.ts'

interface FeedEntry {
  feed: TimelineFeed
  clients: number
  timer: NodeJS.Timeout | undefined
}

/** The feeds of the runs that are watched in this process, one for each run. */
export class TimelineFeeds {
  readonly #parts: FeedParts
  readonly #options: FeedOptions & { linger_ms: number }
  readonly #feeds = new Map<string, FeedEntry>()

  /** A feed without clients is kept for `linger_ms`, so that a page that is loaded again finds it. */
  constructor(parts: FeedParts, options: FeedOptions & { linger_ms: number }) {
    this.#parts = parts
    this.#options = options
  }

  get size(): number {
    return this.#feeds.size
  }

  open(run_id: string): { feed: TimelineFeed; leave(): void } {
    const known = this.#feeds.get(run_id)
    const entry: FeedEntry =
      known?.feed.state === 'live'
        ? known
        : { feed: new TimelineFeed(this.#parts, run_id, this.#options), clients: 0, timer: undefined }
    this.#feeds.set(run_id, entry)
    clearTimeout(entry.timer)
    entry.clients += 1
    return {
      feed: entry.feed,
      leave: () => {
        entry.clients -= 1
        if (entry.clients > 0) return
        const evict = () => {
          entry.feed.close()
          if (this.#feeds.get(run_id) === entry) this.#feeds.delete(run_id)
        }
        if (entry.feed.state !== 'live') return evict()
        entry.timer = setTimeout(evict, this.#options.linger_ms)
        entry.timer.unref()
      },
    }
  }

  close(): void {
    for (const { feed, timer } of this.#feeds.values()) {
      clearTimeout(timer)
      feed.close()
    }
    this.#feeds.clear()
  }
}

/** Streams the timeline of a run: a snapshot, or what came after `after`, then the changes. */
export function timelineStream(feeds: TimelineFeeds, run_id: string, after: number | undefined): SseProducer {
  return async (client) => {
    const { feed, leave } = feeds.open(run_id)
    try {
      await feed.ready
      await sendFeed(feed, client, after)
      if (feed.state === 'gone') await client.write(encodeFrame({ event: 'gone', data: { run_id } }))
    } finally {
      leave()
    }
  }
}

async function sendFeed(feed: TimelineFeed, client: SseClient, after: number | undefined): Promise<void> {
  // The run was deleted before the feed began.
  if (feed.seq === 0) return
  const { signal } = client
  let wake: (() => void) | undefined
  const ring = () => wake?.()
  const unsubscribe = feed.subscribe(ring)
  signal.addEventListener('abort', ring, { once: true })
  let position = after === undefined ? undefined : feed.positionAfter(after)
  if (position !== undefined) await client.write(feed.panelsNotice())
  try {
    while (!signal.aborted) {
      if (typeof feed.state === 'object') throw feed.state.error
      const frame = position === undefined ? undefined : feed.messageAt(position)
      if (position !== undefined && frame) {
        position += 1
        await client.write(frame)
      } else if (position === undefined || position < feed.end) {
        const snapshot = feed.snapshot()
        position = snapshot.position
        await client.write(snapshot.frame)
      } else if (feed.state !== 'live') {
        return
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
  } finally {
    unsubscribe()
  }
}
