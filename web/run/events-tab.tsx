import type { ReactNode } from 'react'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useVirtualRows } from '../blocks/virtual-rows.ts'
import { formatTime } from '../design/format.ts'
import { inertLine, inertText } from '../design/inert-text.ts'
import { EmptyState, ErrorState, LoadingRows } from '../design/notice.tsx'
import type { EventLine } from './event-line.ts'
import { eventLine } from './event-line.ts'
import type { RunScope } from './run-context.ts'
import { isSame, select } from './run-context.ts'
import { useStoreVersion } from './watch-run.ts'

const ROW_HEIGHT = 26
const PAGE = 1_000

/** The journal of the run, event by event; one of an unknown type is shown like the others, as JSON. */
export function EventsTab({ scope }: { scope: RunScope }): ReactNode {
  const { lines, error, complete } = useEvents(scope)
  const [text, setText] = useState('')
  const limit = scope.place.seq ?? Infinity
  const words = text.toLowerCase().trim()
  const shown = lines.filter(
    (line) => line.seq <= limit && (words === '' || `${line.type} ${line.summary}`.toLowerCase().includes(words)),
  )
  if (error) return <ErrorState title="The events cannot be read">{inertText(error.message)}</ErrorState>
  if (lines.length === 0 && !complete) return <LoadingRows rows={12} height={ROW_HEIGHT} />
  if (lines.length === 0) return <EmptyState title="No events yet">They appear here as they are recorded.</EmptyState>
  return (
    <div className="tab-page events-tab">
      <div className="section-head">
        <h2>Events</h2>
        <span className="muted">
          {shown.length.toLocaleString('en')}
          {!complete && ', loading more'}
        </span>
        <span className="grow" />
        <input
          className="field events-filter"
          type="search"
          placeholder="Type or text"
          aria-label="Filter events"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      <EventRows scope={scope} lines={shown} />
    </div>
  )
}

function EventRows({ scope, lines }: { scope: RunScope; lines: readonly EventLine[] }): ReactNode {
  const scroller = useRef<HTMLDivElement>(null)
  const visible = useVirtualRows({ count: lines.length, rowHeight: ROW_HEIGHT, scroller })
  return (
    <div className="event-rows" ref={scroller} onScroll={visible.onScroll}>
      <ul style={{ paddingTop: visible.above, paddingBottom: visible.below }}>
        {lines.slice(visible.first, visible.end).map((line) => {
          const ref = { kind: 'event', id: String(line.seq) } as const
          return (
            <li key={line.seq}>
              <button
                type="button"
                className="event-row"
                aria-pressed={isSame(scope.place.at, ref)}
                onClick={() => select(scope.place, ref)}
              >
                <span className="number muted">{line.seq}</span>
                <span className="number muted">{line.at === null ? '' : formatTime(line.at)}</span>
                <span className="event-type clip">{inertLine(line.type, 80)}</span>
                <span className="clip secondary">{inertLine(line.summary, 300)}</span>
              </button>
            </li>
          )
        })}
      </ul>
    </div>
  )
}

interface Events {
  lines: readonly EventLine[]
  error: Error | null
  complete: boolean
}

/** Reads page after page, and then what is new. */
function useEvents({ source, store, runId }: RunScope): Events {
  const [events, setEvents] = useState<Events>({ lines: [], error: null, complete: false })
  const version = useStoreVersion(store)
  const state = useRef({ after: 0, busy: false, runId })
  const read = useCallback(async () => {
    const current = state.current
    if (current.busy) return
    current.busy = true
    try {
      for (;;) {
        const { events: page, next } = await source.events(runId, { after: current.after, limit: PAGE })
        const lines = page.map((event, index) => eventLine(event, current.after + index + 1))
        current.after = lines.at(-1)?.seq ?? current.after
        setEvents((known) => ({ lines: [...known.lines, ...lines], error: null, complete: next === null }))
        if (next === null || lines.length === 0) return
      }
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      setEvents((known) => (known.lines.length > 0 ? known : { ...known, error }))
    } finally {
      current.busy = false
    }
  }, [source, runId])
  useEffect(() => {
    void version
    if (store.seq > state.current.after) void read()
  }, [version, read, store])
  return events
}
