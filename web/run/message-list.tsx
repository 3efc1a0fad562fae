import type { ReactNode } from 'react'
import { useMemo, useRef, useState } from 'react'
import type { TimelineMessage } from '../../src/views/timeline/timeline.ts'
import { useVirtualRows } from '../blocks/virtual-rows.ts'
import { Button, Chip } from '../design/controls.tsx'
import { formatIdentifier, formatTime } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { Monogram } from '../design/monogram.tsx'
import { StateIcon } from '../design/state.tsx'
import { ALL_MESSAGES, messageTypes, visibleMessages } from './message-filter.ts'
import type { RunScope } from './run-context.ts'
import { isSame, select } from './run-context.ts'
import { useStoreVersion } from './watch-run.ts'

const ROW_HEIGHT = 28

/** The messages between agents, newest first, with a filter. */
export function MessageList({ scope, filterOpen = false }: { scope: RunScope; filterOpen?: boolean }): ReactNode {
  const { store, place } = scope
  const version = useStoreVersion(store)
  const [filter, setFilter] = useState(ALL_MESSAGES)
  const [open, setOpen] = useState(filterOpen)
  const all = store.rows('messages')
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` stands for the rows of the store
  const shown = useMemo(() => visibleMessages(all, filter, place.seq), [version, filter, place.seq])
  const known = place.seq === null ? all.length : all.filter(({ seq }) => seq <= (place.seq ?? 0)).length
  const filtered = shown.length < known
  return (
    <section className="message-list" aria-label="Messages">
      <header className="section-head">
        <h2>Messages</h2>
        <span className="muted">
          {filtered ? `${shown.length} of ${known}` : known}
          {known > 0 && ', newest first'}
        </span>
        <span className="grow" />
        <Button kind="quiet" icon="filter" aria-expanded={open} onClick={() => setOpen(!open)}>
          Filter
        </Button>
      </header>
      {open && (
        <div className="message-filter">
          <input
            className="field"
            type="search"
            placeholder="Text or type"
            aria-label="Filter messages by text"
            value={filter.text}
            onChange={(event) => setFilter({ ...filter, text: event.target.value })}
          />
          {messageTypes(all).map(({ type, count }) => (
            <Chip
              key={type}
              on={filter.types.has(type)}
              count={count}
              onToggle={() => setFilter({ ...filter, types: toggled(filter.types, type) })}
            >
              {inertLine(formatIdentifier(type), 40)}
            </Chip>
          ))}
        </div>
      )}
      {shown.length === 0 ? (
        <p className="empty section-empty">
          {known === 0 ? 'No messages yet. Delegations, questions and answers appear here.' : 'Nothing matches.'}{' '}
          {filtered && <Button onClick={() => setFilter(ALL_MESSAGES)}>Clear the filter</Button>}
        </p>
      ) : (
        <MessageRows scope={scope} messages={shown} />
      )}
    </section>
  )
}

function toggled(types: ReadonlySet<string>, type: string): Set<string> {
  const next = new Set(types)
  if (!next.delete(type)) next.add(type)
  return next
}

function MessageRows({ scope, messages }: { scope: RunScope; messages: readonly TimelineMessage[] }): ReactNode {
  const scroller = useRef<HTMLDivElement>(null)
  const visible = useVirtualRows({ count: messages.length, rowHeight: ROW_HEIGHT, scroller })
  return (
    <div className="message-rows" ref={scroller} onScroll={visible.onScroll}>
      <ul style={{ paddingTop: visible.above, paddingBottom: visible.below }}>
        {messages.slice(visible.first, visible.end).map((message) => (
          <MessageRow key={message.id} scope={scope} message={message} />
        ))}
      </ul>
    </div>
  )
}

function MessageRow({ scope, message }: { scope: RunScope; message: TimelineMessage }): ReactNode {
  const { place } = scope
  const ref = { kind: 'message', id: message.id } as const
  // Neither side is an agent: the run itself asks, and a person answers.
  const isOwn = message.from === null && message.to === null
  const needsYou = message.to === null && message.type === 'question' && isOpenQuestion(scope, message)
  return (
    <li>
      <button
        type="button"
        className={`message-row${needsYou ? ' needs-you' : ''}`}
        aria-pressed={isSame(place.at, ref)}
        onClick={() => select(place, ref)}
      >
        <span className="message-time number">{formatTime(message.at)}</span>
        <span className="message-parties">
          <Party scope={scope} lane={message.from} unknown={isOwn && message.type !== 'answer' ? 'run' : 'you'} />
          <span aria-hidden="true">→</span>
          <span className="visually-hidden">to</span>
          <Party scope={scope} lane={message.to} unknown={isOwn && message.type === 'answer' ? 'run' : 'you'} />
        </span>
        <span className="message-type clip">{inertLine(formatIdentifier(message.type), 40)}</span>
        <span className="message-text clip">
          {needsYou && <StateIcon state="waiting" />}
          {inertLine(message.text, 300)}
        </span>
      </button>
    </li>
  )
}

function isOpenQuestion({ store }: RunScope, { ref }: TimelineMessage): boolean {
  return ref?.kind === 'gate' && store.get('gates', ref.id)?.ended_seq === null
}

interface PartyProps {
  scope: Pick<RunScope, 'store'>
  lane: string | null
  /** Who it is where there is no lane. */
  unknown?: 'you' | 'run'
}

/** A lane, or a person where there is none. */
export function Party({ scope: { store }, lane, unknown = 'you' }: PartyProps): ReactNode {
  const row = lane === null ? undefined : store.get('lanes', lane)
  const label = row?.label ?? lane ?? unknown
  return (
    <span className="party">
      <Monogram label={label} index={row ? store.rows('lanes').indexOf(row) : 0} person={lane === null} />
      <span className="clip">{inertLine(label, 40)}</span>
    </span>
  )
}
