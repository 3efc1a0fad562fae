import type { ReactNode } from 'react'
import { useCallback, useRef } from 'react'
import { Button } from '../design/controls.tsx'
import { SwimLanes } from '../lanes/swim-lanes.tsx'
import { navigate } from '../shell/router.ts'
import { AgentCards } from './agent-cards.tsx'
import { FirstWait } from './first-wait.tsx'
import { MessageList } from './message-list.tsx'
import type { RunScope } from './run-context.ts'
import { openTab, select } from './run-context.ts'
import { TreeGrid } from './tree-grid.tsx'

/** Cards, lanes and messages. The treegrid says the same as the lanes: key 5 shows it, and so does the focus. */
export function TimelineTab({ scope }: { scope: RunScope }): ReactNode {
  const { store, place } = scope
  const isTable = place.tab === 'table'
  const now = useClock(scope.connected)
  return (
    <div className="timeline-tab">
      <AgentCards scope={scope} />
      <FirstWait scope={scope} />
      {isTable ? (
        <section className="table-view" aria-label="Table">
          <div className="section-head">
            <h2>Table</h2>
            <span className="muted">agent, session, turn, call</span>
            <span className="grow" />
            <Button hotkey="5" onClick={() => openTab(place, 'timeline')}>
              Lanes
            </Button>
          </div>
          <TreeGrid scope={scope} />
        </section>
      ) : (
        <>
          <SwimLanes
            store={store}
            selection={place.at}
            onSelect={(at) => select(place, at)}
            replaySeq={place.seq}
            onReplay={(seq) => navigate({ ...place, seq }, { replace: true })}
            range={place.range}
            onRange={(range) => navigate({ ...place, range }, { replace: true })}
            now={now}
            connected={scope.connected}
          />
          <div className="hidden-table">
            <TreeGrid scope={scope} />
          </div>
        </>
      )}
      <MessageList scope={scope} />
    </div>
  )
}

/** The time, which stands still while the connection is lost: nobody knows what happens then. */
function useClock(connected: boolean): () => number {
  const stopped = useRef<number | null>(null)
  if (connected) stopped.current = null
  else stopped.current ??= Date.now()
  return useCallback(() => stopped.current ?? Date.now(), [])
}
