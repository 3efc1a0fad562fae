import type { Event, EventOf } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import { textFrom } from '../../kernel/model.ts'
import type { PanelBlock } from '../panel.ts'
import { tableBlock } from '../panel-blocks.ts'
import type { Timeline, TimelineSession } from '../timeline/timeline.ts'
import type { DetailScope } from './detail-scope.ts'
import { eventsOfSession, rowIndex } from './event-index.ts'
import { callRows } from './folded-calls.ts'

/* Tables about rows of the timeline: turns, calls and sessions. */

export function laneLabel(timeline: Timeline, id: string | null): string | null {
  return id === null ? null : (rowIndex(timeline).lanes.get(id)?.label ?? id)
}

export function callTable(timeline: Timeline, session: string): PanelBlock {
  return {
    kind: 'table',
    title: 'Calls',
    columns: [
      { key: 'number', title: 'Call' },
      { key: 'tool', title: 'Tool', unit: 'code' },
      { key: 'target', title: 'Target', unit: 'code' },
      { key: 'state', title: 'State', unit: 'state' },
      { key: 'took', title: 'Took', unit: 'ms' },
      { key: 'error', title: 'Error' },
    ],
    rows: callRows(timeline, session),
    empty: 'No tool calls.',
  }
}

export function turnTable(timeline: Timeline, session: string): PanelBlock[] {
  const turns = rowIndex(timeline).turns.get(session) ?? []
  return tableBlock({ title: 'Turns', empty: 'No model request yet.' }, turns, {
    number: ['Turn', ({ number }) => number, 'count'],
    title: ['Response', ({ title }) => title],
    state: ['State', ({ status }) => (status === 'ok' ? 'completed' : status), 'state'],
    at: ['Sent', ({ started_at }) => started_at, 'time'],
    took: ['Took', ({ started_at, ended_at }) => ended_at && ended_at - started_at, 'ms'],
    tokens: ['Tokens', ({ tokens }) => tokens.input + tokens.output, 'tokens'],
    cost: ['Cost', ({ usd }) => usd, 'usd'],
  })
}

/** The events of a session row: from its opening to its end. */
export function segmentEvents({ events }: DetailScope, row: TimelineSession): Event[] {
  const last = row.ended_seq ?? Number.POSITIVE_INFINITY
  return eventsOfSession(events, row.session_id).filter(({ seq }) => seq >= row.seq && seq <= last)
}

/** What a session was told first. */
export function instructionOf(events: readonly Event[]): string {
  const input = events.find((event) => isEvent(event, 'session:input') && event.data.key.endsWith('/input'))
  return isEvent(input, 'session:input') ? textFrom(input.data.message) : ''
}

export function endOf(events: readonly Event[]): EventOf<'session:end'> | undefined {
  const end = events.findLast((event) => isEvent(event, 'session:end'))
  return isEvent(end, 'session:end') ? end : undefined
}
