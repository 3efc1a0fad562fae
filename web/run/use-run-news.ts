import { useEffect, useRef } from 'react'
import type { TimelineStore } from '../data/timeline-store.ts'
import { inertLine } from '../design/inert-text.ts'
import { stateLabel } from '../design/state.tsx'
import { announce } from '../shell/live-region.tsx'

/** Announces the run when it is opened, then its changes of state and its stalls. The frame announces questions. */
export function useRunNews(store: TimelineStore): void {
  const { run } = store
  const title = run ? inertLine(run.title || run.id, 80) : ''
  const status = run?.status
  useEffect(() => {
    if (status !== undefined) announce(`${title}: ${stateLabel(status)}`)
  }, [title, status])
  const notices = store.rows('notices').filter(({ kind }) => kind !== 'note')
  const seen = useRef(notices.length)
  useEffect(() => {
    for (const { text } of notices.slice(seen.current)) announce(inertLine(text, 200))
    seen.current = notices.length
  })
}
