import { pagePath } from '../shell/page-path.ts'
import type { StreamEvent } from './event-stream.ts'
import type { StreamLeader, StreamLink, Wants } from './stream-leader.ts'
import { createStreamLeader, LISTS } from './stream-leader.ts'

/*
 * What changes on the server, for all tabs of a browser over one connection: browsers open at most six to a server, and a stream keeps one for ever.
 * 1. One tab leads: the one that holds the lock. It has the connection and tells the others over broadcast channels. When it is closed or crashes, the
 *    browser gives the lock to the next tab, which asks all of them what they show and which events they have.
 * 2. Each tab holds a lock of its own, so that the leader learns of its end, however it ends.
 * 3. Where locks or channels are missing (no secure context), each tab has its own connection.
 */

export interface TopicListener {
  onEvent(event: StreamEvent): void
  onLink(link: StreamLink): void
}

export interface LiveStream {
  /** Returns a function that stops it. */
  watch(topic: string, listener: TopicListener): () => void
}

type Control =
  | { kind: 'lead' }
  | { kind: 'wants'; tab: string; wants: Wants }
  /** `to` is the tab that has just come; all of them without it. */
  | { kind: 'link'; link: StreamLink; to?: string }

interface Topic {
  listeners: Set<TopicListener>
  lastId: string | null
  channel: BroadcastChannel | undefined
}

export interface LiveStreamOptions {
  open(path: string, signal: AbortSignal): Promise<Response>
}

/** Pages of several servers may have one origin. */
const NAME = `troupe:live${pagePath}`

export function createLiveStream({ open }: LiveStreamOptions): LiveStream {
  const tab = crypto.randomUUID()
  const isShared = 'locks' in navigator && 'BroadcastChannel' in window
  const topics = new Map<string, Topic>()
  const control = isShared ? new BroadcastChannel(NAME) : undefined
  let leader: StreamLeader | undefined
  let link: StreamLink | undefined

  const wants = (): Wants => {
    const runs = [...topics].filter(([topic]) => topic !== LISTS)
    return Object.fromEntries(runs.map(([topic, { lastId }]) => [topic, lastId]))
  }
  /** Until this tab holds its lock, the leader would get that lock at once, and take the tab for closed. */
  let holdsLock = false
  const tellWants = () => {
    leader?.setWants(tab, wants())
    if (holdsLock) control?.postMessage({ kind: 'wants', tab, wants: wants() } satisfies Control)
  }
  const setLink = (next: StreamLink) => {
    link = next
    for (const { listeners } of topics.values()) for (const listener of listeners) listener.onLink(next)
  }
  const tellEvent = (name: string, event: StreamEvent) => {
    const topic = topics.get(name)
    if (!topic) return
    if (event.id !== null) topic.lastId = event.id
    for (const listener of topic.listeners) listener.onEvent(event)
  }
  const lead = () => {
    const channels = new Map<string, BroadcastChannel>()
    const known = new Set<string>([tab])
    const made = createStreamLeader({
      open,
      onEvent(name, event) {
        tellEvent(name, event)
        if (!isShared) return
        const channel = channels.get(name) ?? new BroadcastChannel(channelName(name))
        channels.set(name, channel)
        channel.postMessage(event)
      },
      onLink(next) {
        setLink(next)
        control?.postMessage({ kind: 'link', link: next } satisfies Control)
      },
    })
    leader = made
    made.setWants(tab, wants())
    control?.postMessage({ kind: 'lead' } satisfies Control)
    return (other: string, theirs: Wants) => {
      made.setWants(other, theirs)
      if (known.has(other)) return
      known.add(other)
      if (link) control?.postMessage({ kind: 'link', link, to: other } satisfies Control)
      void navigator.locks.request(tabLock(other), () => made.setWants(other, null))
    }
  }

  let addTab: ((other: string, theirs: Wants) => void) | undefined
  control?.addEventListener('message', ({ data }: MessageEvent<Control>) => {
    if (data.kind === 'lead') tellWants()
    else if (data.kind === 'wants') addTab?.(data.tab, data.wants)
    else if (data.to === undefined || data.to === tab) setLink(data.link)
  })
  if (isShared) {
    void navigator.locks.request(tabLock(tab), () => {
      holdsLock = true
      tellWants()
      return forever
    })
    void navigator.locks.request(NAME, () => {
      addTab = lead()
      return forever
    })
  } else lead()

  return {
    watch(name, listener) {
      const topic = topics.get(name) ?? newTopic(isShared ? new BroadcastChannel(channelName(name)) : undefined)
      const isNew = topic.listeners.size === 0
      // A listener that comes later needs a snapshot, too.
      topic.lastId = null
      topics.set(name, topic)
      topic.listeners.add(listener)
      if (topic.channel)
        topic.channel.onmessage = ({ data }: MessageEvent<StreamEvent>) => {
          // The tab that leads hears itself.
          if (!leader) tellEvent(name, data)
        }
      if (link) listener.onLink(link)
      if (isNew || name !== LISTS) tellWants()
      return () => {
        topic.listeners.delete(listener)
        if (topic.listeners.size > 0 || topics.get(name) !== topic) return
        topics.delete(name)
        topic.channel?.close()
        tellWants()
      }
    },
  }
}

const forever = new Promise<never>(() => undefined)

function newTopic(channel: BroadcastChannel | undefined): Topic {
  return { listeners: new Set(), lastId: null, channel }
}

function channelName(topic: string): string {
  return `${NAME}:${topic}`
}

function tabLock(tab: string): string {
  return `troupe:tab:${tab}`
}
