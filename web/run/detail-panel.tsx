import type { CSSProperties, ReactNode } from 'react'
import { useEffect, useRef, useState } from 'react'
import type { Detail } from '../../src/surfaces/http/contract.ts'
import type { TimelineRef } from '../../src/views/timeline/timeline.ts'
import { Blocks } from '../blocks/block.tsx'
import { copyText } from '../blocks/copy-text.ts'
import { JsonTree } from '../blocks/json-tree.tsx'
import { keyed } from '../blocks/keyed.ts'
import { Value } from '../blocks/value.tsx'
import { CopyButton, IconButton } from '../design/controls.tsx'
import { inertLine, inertText } from '../design/inert-text.ts'
import { ErrorState, LoadingRows } from '../design/notice.tsx'
import { StateText } from '../design/state.tsx'
import { Party } from './message-list.tsx'
import { lanesOf, neighboursOf } from './neighbours.ts'
import { PanelResizer } from './panel-resizer.tsx'
import type { RunScope } from './run-context.ts'
import { copyLink, select } from './run-context.ts'
import { useDetail } from './use-detail.ts'
import { isNotFound } from './watch-run.ts'

/** Whatever is selected: kind and place, parties, state and figures, sections, JSON last. */
export function DetailPanel({ scope, at }: { scope: RunScope; at: TimelineRef }): ReactNode {
  const loaded = useDetail(scope, at)
  const [width, setWidth] = useState(396)
  const panel = useRef<HTMLElement>(null)
  const key = `${at.kind}:${at.id}`
  // biome-ignore lint/correctness/useExhaustiveDependencies: another selection starts at the top
  useEffect(() => {
    // In braces: browsers return a promise from `scrollTo`, and React would take it for a function.
    panel.current?.scrollTo(0, 0)
  }, [key])
  useEffect(() => leaveDetail, [])
  return (
    <aside className="detail-panel" style={detailWidth(width)} aria-label="Detail" ref={panel} tabIndex={-1}>
      <PanelResizer width={width} onWidth={setWidth} />
      <DetailBar scope={scope} at={at} kind={loaded.kind === 'ready' ? loaded.value.kind : at.kind} />
      {loaded.kind === 'loading' && <LoadingRows rows={6} height={24} />}
      {loaded.kind === 'error' && <DetailError error={loaded.error} />}
      {loaded.kind === 'ready' && <DetailBody scope={scope} detail={loaded.value} />}
    </aside>
  )
}

let focusedBefore: HTMLElement | null = null

/** Moves the focus into the detail, or from there back to where it was. */
export function moveIntoDetail(): void {
  const panel = document.querySelector<HTMLElement>('.detail-panel')
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement : null
  if (panel === null || panel.contains(focused)) leaveDetail()
  else {
    focusedBefore = focused
    panel.focus()
  }
}

/** A focus that was moved here goes back, also when the detail is closed. */
function leaveDetail(): void {
  const target = focusedBefore
  focusedBefore = null
  const focused = document.activeElement
  const isElsewhere = focused !== document.body && focused?.closest('.detail-panel') === null
  if (target === null || isElsewhere) return
  if (target === document.body && focused instanceof HTMLElement) focused.blur()
  else target.focus()
}

/** A custom property, so that the sheet of narrow screens keeps its own width. */
function detailWidth(width: number): CSSProperties {
  return { ['--detail-width' as string]: `${width}px` }
}

function DetailError({ error }: { error: Error }): ReactNode {
  if (isNotFound(error))
    return <ErrorState title="Not found">This run has no such place. The link may be of another run.</ErrorState>
  return <ErrorState title="This detail cannot be shown">{inertText(error.message)}</ErrorState>
}

function DetailBar({ scope, at, kind }: { scope: RunScope; at: TimelineRef; kind: string }): ReactNode {
  const { previous, next } = neighboursOf(scope.store, at)
  return (
    <div className="detail-bar">
      <span className="detail-kind clip">{inertLine(kind, 80)}</span>
      <IconButton icon="left" label="Previous" disabled={!previous} onClick={() => select(scope.place, previous)} />
      <IconButton icon="right" label="Next" disabled={!next} onClick={() => select(scope.place, next)} />
      <IconButton icon="link" label="Copy link" onClick={() => void copyLink({ ...scope.place, at })} />
      <IconButton icon="close" label="Close (Esc)" onClick={() => select(scope.place, null)} />
    </div>
  )
}

function DetailBody({ scope, detail }: { scope: RunScope; detail: Detail }): ReactNode {
  return (
    <>
      <div className="detail-head">
        {detail.title !== '' && <h2 className="detail-title">{inertText(detail.title, 300)}</h2>}
        {(detail.from !== null || detail.to !== null) && (
          <div className="detail-parties">
            <DetailParty scope={scope} name={detail.from} />
            {detail.to !== null && (
              <>
                <span aria-hidden="true">→</span>
                <span className="visually-hidden">to</span>
                <DetailParty scope={scope} name={detail.to} />
              </>
            )}
          </div>
        )}
        <div className="detail-facts">
          {detail.state !== '' && <StateText state={detail.state} />}
          {keyed(detail.facts, ({ label }) => label).map(({ key, item: { label, value, unit, tone } }) => (
            <span key={key} className="detail-fact">
              <span className="muted">{inertLine(label, 40)}</span> <Value value={value} unit={unit} tone={tone} />
            </span>
          ))}
        </div>
      </div>
      {keyed(detail.sections, ({ title }) => title).map(({ key, item }) => (
        <DetailSection key={key} section={item} />
      ))}
      <JsonSection json={detail.json} />
    </>
  )
}

/** The label of a lane, or the name of an agent: of several lanes of one agent, the one that the place belongs to. */
function DetailParty({ scope, name }: { scope: RunScope; name: string | null }): ReactNode {
  const own = scope.place.at === null ? [] : lanesOf(scope.store, scope.place.at)
  const lanes = scope.store.rows('lanes')
  const lane =
    lanes.find(({ id, agent }) => agent === name && own.includes(id)) ??
    lanes.find(({ label }) => label === name) ??
    lanes.find(({ id }) => id === name)
  return <Party scope={scope} lane={lane?.id ?? name} />
}

function DetailSection({ section }: { section: Detail['sections'][number] }): ReactNode {
  const { title, note, tone, blocks } = section
  return (
    <section className="detail-section">
      <header className="detail-section-head">
        <h3>{inertLine(title, 80)}</h3>
        {note !== undefined && (
          <span className={`clip section-note tone-${tone ?? 'muted'}`} title={inertLine(note, 300)}>
            {tone !== undefined && (tone === 'good' ? '✓ ' : '✗ ')}
            {inertLine(note, 120)}
          </span>
        )}
        <CopyButton label={`Copy ${inertLine(title, 40)}`} text={() => blocks.map(copyText).join('\n\n')} />
      </header>
      <Blocks blocks={blocks} />
    </section>
  )
}

function JsonSection({ json }: { json: unknown }): ReactNode {
  return (
    <details className="detail-section detail-json">
      <summary>
        JSON <span className="muted">the events behind it</span>
      </summary>
      <CopyButton label="Copy JSON" text={() => JSON.stringify(json, null, 2)} />
      <JsonTree value={json} />
    </details>
  )
}
