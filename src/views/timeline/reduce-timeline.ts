import type { Event } from '../../kernel/event.ts'
import { reduceAccounts } from '../accounts.ts'
import { isPatternEvent } from '../run-reducer.ts'
import { reduceToolEvent } from './call-rows.ts'
import { reduceGateAnswer, reduceGateOpen } from './gate-rows.ts'
import { sessionOf } from './lane-rows.ts'
import { reducePatternEvent } from './pattern-marks.ts'
import { rowText } from './row-text.ts'
import {
  addSteering,
  advanceClock,
  finishEvent,
  reduceClockJump,
  reduceRunAttempt,
  reduceRunEnd,
  reduceRunReopen,
  reduceRunStart,
  stopWork,
} from './run-rows.ts'
import { reduceSessionEnd, reduceSessionInput, reduceSessionOpen } from './session-rows.ts'
import type { Timeline, TimelineChanges } from './timeline.ts'
import type { TimelineSources, TimelineState } from './timeline-state.ts'
import { addNotice, addRow, mapTables, newTimeline, TIMELINE_TABLES } from './timeline-state.ts'
import { addPerformerMessage, reduceModelEvent, reducePerformerStep } from './turn-rows.ts'

/** The timeline of a journal, or of its beginning. With `loadPatternViews(await troupe.patterns())`, patterns contribute to it. */
export function timelineFrom(events: Iterable<Event>, sources?: TimelineSources): Timeline {
  const state = newTimeline(sources)
  for (const event of events) reduceTimeline(state, event)
  return state.tables
}

/** Updates a timeline in place with one event. Each event costs the same, however long the journal is. */
export function reduceTimeline(state: TimelineState, event: Event): void {
  const before = state.clock.now
  advanceClock(state, event)
  if (state.tables.run.length === 0) addRow(state, 'run', state.run)
  if (isPatternEvent(event)) reducePatternEvent(state, event)
  else if (!reduceRunEvent(state, event, before)) reduceSessionEvent(state, event)
  for (const name of state.notices.failedViews.splice(0)) {
    const text = `The view of the pattern ${name} does not understand this journal, which another version may have written.`
    addNotice(state, event, { kind: 'note', text })
  }
  finishEvent(state, event)
}

/** Returns whether it was an event of the run itself. */
function reduceRunEvent(state: TimelineState, event: Event, before: number): boolean {
  switch (event.type) {
    case 'run:start':
      reduceRunStart(state, event)
      return true
    case 'run:attempt':
      reduceRunAttempt(state, event, before)
      return true
    case 'run:reopen':
      reduceRunReopen(state, event)
      return true
    case 'run:park':
      state.run.status = 'waiting'
      stopWork(state, event, { kind: 'waiting', text: 'Waits for a person' })
      return true
    case 'run:interrupt':
      state.run.status = 'pending'
      stopWork(state, event, { kind: 'interrupted', text: rowText(state, event.data.reason) })
      return true
    case 'run:clock':
      reduceClockJump(state, event)
      return true
    case 'run:cancel': {
      const { reason } = event.data
      addNotice(state, event, {
        kind: 'note',
        text: rowText(state, reason ? `Cancelled: ${reason}` : 'Cancelled'),
      })
      return true
    }
    case 'run:steer':
      addSteering(state, event)
      return true
    case 'run:end':
      reduceRunEnd(state, event)
      return true
    default:
      return false
  }
}

function reduceSessionEvent(state: TimelineState, event: Event): void {
  switch (event.type) {
    case 'session:open':
      reduceAccounts(state.costs.ledger, event)
      reduceSessionOpen(state, event)
      return
    case 'session:input':
      reduceSessionInput(state, event)
      return
    case 'session:end':
      reduceSessionEnd(state, event)
      return
    case 'model:begin':
    case 'model:end':
    case 'model:error':
    case 'model:lost':
      reduceModelEvent(state, event)
      return
    case 'step:begin':
    case 'step:end':
    case 'step:error':
      reducePerformerStep(state, event)
      return
    case 'performer:message':
      addPerformerMessage(state, event)
      return
    case 'tool:pre':
    case 'tool:post':
    case 'tool:error':
      reduceToolEvent(state, event)
      return
    case 'gate:open':
      reduceGateOpen(state, event)
      return
    case 'gate:answer':
      reduceGateAnswer(state, event)
      return
    case 'limit:hit': {
      const text = rowText(state, event.data.error.message)
      addNotice(state, event, { kind: 'limit', text, session: sessionOf(state, event)?.row.id ?? null })
    }
  }
}

/** The rows that changed since the last call, as copies. */
export function takeChanges(state: TimelineState): TimelineChanges {
  const rows: Record<string, unknown[]> = {}
  for (const table of TIMELINE_TABLES) {
    const changed: Set<object> = state.changed[table]
    if (changed.size === 0) continue
    rows[table] = Array.from(changed, (row) => ({ ...row }))
    changed.clear()
  }
  return { seq: state.clock.seq, rows: rows as TimelineChanges['rows'] }
}

/** All rows, as copies: later events do not change them. */
export function timelineSnapshot({ tables }: TimelineState): Timeline {
  return mapTables((table) => tables[table].map((row) => ({ ...row }))) as Timeline
}
