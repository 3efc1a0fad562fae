import type { Event, Troupe } from '../../../index.ts'
import { loadPrices, newTimeline, reduceTimeline, takeChanges, timelineSnapshot } from '../../../index.ts'
import { loadPatternViews } from '../../../views/pattern-views.ts'
import { isPatternEvent } from '../../../views/run-reducer.ts'
import type { TimelineFold } from './timeline-feed.ts'

/** Events that change the panel of the cost, or the output that panels show. */
const PANEL_EVENTS: ReadonlySet<string> = new Set(['model:end', 'model:error', 'model:lost', 'run:end', 'run:reopen'])

/** The fold of a run's events with the views of the patterns that this process knows. */
export async function newTimelineFold(troupe: Pick<Troupe, 'patterns'>): Promise<TimelineFold> {
  const patterns = await troupe.patterns()
  const [views, prices] = await Promise.all([loadPatternViews(patterns), loadPrices()])
  const state = newTimeline({
    views,
    prices,
    eventTypes: new Set(patterns.flatMap(({ events = {} }) => Object.keys(events))),
    steerable: new Set(patterns.filter(({ checkSteer }) => checkSteer).map(({ name }) => name)),
  })
  return {
    add: (event) => reduceTimeline(state, event),
    snapshot: () => timelineSnapshot(state),
    takeChanges: () => takeChanges(state),
    changesPanels: (event: Event) => isPatternEvent(event) || PANEL_EVENTS.has(event.type),
  }
}
