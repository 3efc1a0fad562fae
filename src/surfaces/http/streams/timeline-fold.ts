import type { Event, Troupe } from '../../../index.ts'
import { isPatternEvent } from '../../../views/run-view.ts'
import { newTimeline, reduceTimeline, takeChanges, timelineSnapshot } from '../../../views/timeline/reduce-timeline.ts'
import type { TimelineFold } from './timeline-feed.ts'

/** Events that change the panel of the cost, or the output that panels show. */
const PANEL_EVENTS: ReadonlySet<string> = new Set(['model:end', 'model:error', 'model:lost', 'run:end', 'run:reopen'])

/** The fold of a run's events with the views, prices and redaction of this process. */
export async function newTimelineFold(troupe: Pick<Troupe, 'timelineSources'>): Promise<TimelineFold> {
  const state = newTimeline(await troupe.timelineSources())
  return {
    add: (event) => reduceTimeline(state, event),
    snapshot: () => timelineSnapshot(state),
    takeChanges: () => takeChanges(state),
    changesPanels: (event: Event) => isPatternEvent(event) || PANEL_EVENTS.has(event.type),
  }
}
