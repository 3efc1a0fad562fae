import type { TimelineRef } from '../../src/views/timeline/timeline.ts'
import type { DataSource } from '../data/source.ts'
import type { TimelineStore } from '../data/timeline-store.ts'
import { copyToClipboard } from '../design/controls.tsx'
import { showStatus } from '../shell/live-region.tsx'
import type { RunPlace } from '../shell/router.ts'
import { hrefOf, navigate } from '../shell/router.ts'

/** What all parts of the page of a run need. */
export interface RunScope {
  source: DataSource
  store: TimelineStore
  runId: string
  place: RunPlace
  /** `false` while the stream is interrupted: what is shown may be old. */
  connected: boolean
}

/** Selection and tabs push history, so that Back leads through them. */
export function select(place: RunPlace, at: TimelineRef | null): void {
  navigate({ ...place, at })
}

export function openTab(place: RunPlace, tab: string): void {
  navigate({ ...place, tab })
}

/** Copies the address of a place and says so; that of an export is behind `#`. */
export async function copyLink(place: RunPlace): Promise<void> {
  const { origin, pathname } = window.location
  const href = hrefOf(place)
  const isCopied = await copyToClipboard(href.startsWith('#') ? `${origin}${pathname}${href}` : `${origin}${href}`)
  showStatus(isCopied ? 'Link copied' : 'The browser refused to copy the link')
}

/** Whether no process executes the run, as its journal tells. */
export function isInterrupted(store: TimelineStore): boolean {
  return store.rows('pauses').some(({ kind, ended_seq }) => kind === 'interrupted' && ended_seq === null)
}

export function isSame(a: TimelineRef | null, b: TimelineRef | null): boolean {
  return a?.kind === b?.kind && a?.id === b?.id
}
