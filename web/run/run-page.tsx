import type { ReactNode } from 'react'
import { useEffect, useMemo } from 'react'
import type { Panel } from '../../src/views/panel.ts'
import type { AgentIndex } from '../blocks/agent-index.ts'
import { AgentIndexContext, indexFromName } from '../blocks/agent-index.ts'
import type { DataSource } from '../data/source.ts'
import type { TimelineStore } from '../data/timeline-store.ts'
import { inertLine, inertText } from '../design/inert-text.ts'
import { MonogramContext, uniqueMonograms } from '../design/monogram.tsx'
import { EmptyState, ErrorState, LoadingRows } from '../design/notice.tsx'
import { useKeys } from '../shell/keys.ts'
import { Link } from '../shell/link.tsx'
import { useNow, useOpenQuestions } from '../shell/page-context.ts'
import type { RunPlace } from '../shell/router.ts'
import { navigate } from '../shell/router.ts'
import { ArtifactsTab } from './artifacts-tab.tsx'
import { CostTab } from './cost-tab.tsx'
import { DetailPanel, moveIntoDetail } from './detail-panel.tsx'
import { EventsTab } from './events-tab.tsx'
import { MessageList } from './message-list.tsx'
import { PanelTab } from './panel-tab.tsx'
import type { RunScope } from './run-context.ts'
import { copyLink, openTab, select } from './run-context.ts'
import { RunHeader } from './run-header.tsx'
import { RunNotice } from './run-notice.tsx'
import { TimelineTab } from './timeline-tab.tsx'
import { useRunNews } from './use-run-news.ts'
import type { RunState } from './watch-run.ts'
import { isNotFound, useLoadedInTurn, useRunWatch, useStoreVersion } from './watch-run.ts'

interface RunPageProps {
  source: DataSource
  runId: string
  place: RunPlace
}

export function RunPage({ source, runId, place }: RunPageProps): ReactNode {
  const { store, state, connected, panelsVersion } = useRunWatch(source, runId)
  useStoreVersion(store)
  const scope: RunScope = { source, store, runId, place, connected }
  if (!store.run) return <BeforeFirstRow state={state} />
  return <OpenRun scope={scope} state={state} panelsVersion={panelsVersion} />
}

/** States without anything to show. */
function BeforeFirstRow({ state }: { state: RunState }): ReactNode {
  if (state.kind === 'gone' || (state.kind === 'error' && isNotFound(state.error)))
    return (
      <EmptyState title="There is no such run.">
        It was deleted, or it belongs to another project. <Link to={{ page: 'runs', query: '' }}>All runs</Link>
      </EmptyState>
    )
  if (state.kind === 'error')
    return (
      <ErrorState title="This run cannot be shown">
        {inertText(state.error.message)} {state.error.hint !== undefined && inertText(state.error.hint)}
      </ErrorState>
    )
  if (state.kind === 'ready')
    return <EmptyState title="No events yet">Its agents appear here as soon as they start.</EmptyState>
  return <LoadingRows rows={10} />
}

function OpenRun({ scope, state, panelsVersion }: { scope: RunScope; state: RunState; panelsVersion: number }) {
  const { store, place } = scope
  const now = useNow(1_000)
  const panels = usePanels(scope, panelsVersion)
  const agentIndex = useAgentOrder(store)
  const lanes = store.rows('lanes')
  const monograms = useMemo(() => uniqueMonograms(lanes.map(({ label }) => label)), [lanes])
  useTitle(store)
  useRunNews(store)
  useRunKeys(scope)
  return (
    <AgentIndexContext value={agentIndex}>
      <MonogramContext value={monograms}>
        <div className={`run-page${place.at ? ' with-detail' : ''}`}>
          <RunHeader scope={scope} panels={panels ?? []} now={now} />
          <RunNotice scope={scope} state={state} />
          <div className="run-body">
            <div className="run-work">
              <CurrentTab scope={scope} panels={panels} now={now} />
            </div>
            {place.at && <DetailPanel scope={scope} at={place.at} />}
          </div>
        </div>
      </MonogramContext>
    </AgentIndexContext>
  )
}

function CurrentTab(props: { scope: RunScope; panels: readonly Panel[] | null; now: number }): ReactNode {
  const { scope, panels, now } = props
  const { tab } = scope.place
  if (tab === 'timeline' || tab === 'table') return <TimelineTab scope={scope} />
  if (tab === 'messages') return <MessageList scope={scope} filterOpen />
  if (tab === 'cost') return <CostTab scope={scope} now={now} accounts={panels?.find(({ id }) => id === 'cost')} />
  if (tab === 'events') return <EventsTab scope={scope} />
  if (tab === 'artifacts') return <ArtifactsTab scope={scope} />
  if (panels === null) return <LoadingRows rows={8} />
  const panel = panels.find(({ id }) => id === tab)
  if (panel) return <PanelTab panel={panel} />
  return (
    <EmptyState title="This run has no such page.">
      <Link to={{ ...scope.place, tab: 'timeline' }}>Timeline</Link>
    </EmptyState>
  )
}

/** Pages that no pattern can replace; that of costs draws the panel `cost` itself. */
const OWN_TABS = new Set(['timeline', 'table', 'messages', 'events', 'artifacts'])

/** The pages of the pattern, at the event that is shown; `null` until they are loaded. */
function usePanels({ source, runId, place }: RunScope, version: number): readonly Panel[] | null {
  const loaded = useLoadedInTurn(() => source.panels(runId, place.seq ?? undefined), [runId, place.seq, version])
  if (loaded.kind === 'loading') return null
  if (loaded.kind === 'error') return []
  return loaded.value.panels.filter(({ id }) => !OWN_TABS.has(id))
}

/** Agents by name and lanes by label have the place of their lane. */
function useAgentOrder(store: TimelineStore): AgentIndex {
  const lanes = store.rows('lanes')
  return useMemo(() => {
    const order = new Map<string, number>()
    for (const [index, { agent, label }] of lanes.entries()) {
      if (!order.has(agent)) order.set(agent, index)
      order.set(label, index)
    }
    return (name) => order.get(name) ?? indexFromName(name)
  }, [lanes])
}

function useTitle(store: TimelineStore): void {
  const title = store.run?.title
  const open = useOpenQuestions() ?? 0
  useEffect(() => {
    document.title = `${open > 0 ? `(${open}) ` : ''}${inertLine(title || 'Run', 80)} · Troupe`
  }, [title, open])
}

function useRunKeys({ store, place }: RunScope): void {
  useKeys('Run', [
    { keys: 'Escape', label: 'Close the detail', run: () => (place.at ? select(place, null) : false) },
    { keys: 'd', label: 'Into the detail, and back', run: () => place.at !== null && moveIntoDetail() },
    { keys: '5', label: 'Table or lanes', run: () => openTab(place, place.tab === 'table' ? 'timeline' : 'table') },
    { keys: 'm', label: 'Messages', run: () => openTab(place, place.tab === 'messages' ? 'timeline' : 'messages') },
    { keys: 'y', label: 'Copy the link of this place', run: () => void copyLink(place) },
    {
      keys: 'n',
      label: 'Next thing that needs a person',
      run: () => {
        // The lanes go from one to the next.
        if (place.tab === 'timeline') return false
        const gate = store.rows('gates').find((row) => row.ended_seq === null)
        if (!gate) return false
        navigate({ ...place, at: { kind: 'gate', id: gate.id } })
        return true
      },
    },
  ])
}
