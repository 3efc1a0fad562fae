import { createContext, useContext, useEffect, useState, useSyncExternalStore } from 'react'
import type { PageSession, Scope } from '../../src/surfaces/http/contract.ts'
import type { LiveFeed } from '../data/live-feed.ts'
import type { Connection, DataSource } from '../data/source.ts'

/** What every page of the viewer works with. */
export interface PageContext {
  source: DataSource
  feed: LiveFeed
  session: PageSession
}

export const pageContext = createContext<PageContext | null>(null)

export function usePage(): PageContext {
  const page = useContext(pageContext)
  if (page === null) throw new Error('usePage is used outside of the page context')
  return page
}

export function hasScope({ scopes }: PageSession, scope: Scope): boolean {
  return scopes.includes(scope)
}

export function useConnection(): Connection {
  const { feed } = usePage()
  return useSyncExternalStore(feed.subscribe, feed.connection)
}

export function useOpenQuestions(): number | null {
  const { feed } = usePage()
  return useSyncExternalStore(feed.subscribe, feed.openQuestions)
}

/** The current time, renewed at an interval. */
export function useNow(intervalMs: number): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), intervalMs)
    return () => clearInterval(timer)
  }, [intervalMs])
  return now
}

/** Whether a media query holds. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const list = window.matchMedia(query)
      list.addEventListener('change', listener)
      return () => list.removeEventListener('change', listener)
    },
    () => window.matchMedia(query).matches,
  )
}

/** One column, with targets for fingers. */
export function useNarrow(): boolean {
  return useMedia('(max-width: 720px)')
}
