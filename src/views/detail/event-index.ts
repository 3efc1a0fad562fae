import type { Event } from '../../kernel/event.ts'
import { isPatternEvent } from '../../run-model/reduce-run.ts'
import { nodesIn } from '../../run-model/step-tree.ts'
import type { RunView, ToolCallNode } from '../run-view.ts'
import type { Timeline } from '../timeline/timeline.ts'

/*
 * Finds events and rows without searching the whole journal for each place: an export has the details of tens of thousands of them.
 * 1. An index belongs to a list that never changes; it is made once, with the first lookup.
 * 2. Events stand in the order of the journal.
 */

export interface EventIndex {
  bySession: ReadonlyMap<string | undefined, readonly Event[]>
  byKey: ReadonlyMap<string, readonly Event[]>
  bySeq: ReadonlyMap<number, Event>
  ofPatterns: readonly Event[]
}

const indexes = new WeakMap<readonly Event[], EventIndex>()

export function eventIndex(events: readonly Event[]): EventIndex {
  const known = indexes.get(events)
  if (known) return known
  const index: EventIndex = {
    bySession: Map.groupBy(events, ({ session_id }) => session_id),
    byKey: Map.groupBy(events, ({ data }) => String((data as { key?: unknown } | null)?.key ?? '')),
    bySeq: new Map(events.map((event) => [event.seq, event])),
    ofPatterns: events.filter(isPatternEvent),
  }
  indexes.set(events, index)
  return index
}

/** The events of a step. */
export function eventsWithKey(events: readonly Event[], key: string): readonly Event[] {
  return key === '' ? [] : (eventIndex(events).byKey.get(key) ?? [])
}

export function eventsOfSession(events: readonly Event[], session_id: string | undefined): readonly Event[] {
  return eventIndex(events).bySession.get(session_id) ?? []
}

export interface RowIndex {
  turns: ReadonlyMap<string, Timeline['turns']>
  calls: ReadonlyMap<string, Timeline['calls']>
  sessions: ReadonlyMap<string, Timeline['sessions'][number]>
  sessionsByCall: ReadonlyMap<string | null, Timeline['sessions']>
  callById: ReadonlyMap<string, Timeline['calls'][number]>
  turnById: ReadonlyMap<string, Timeline['turns'][number]>
  lanes: ReadonlyMap<string, Timeline['lanes'][number]>
}

const rowIndexes = new WeakMap<Timeline, RowIndex>()

/** Turns and calls by their session; sessions, calls and lanes by their id. */
export function rowIndex(timeline: Timeline): RowIndex {
  const known = rowIndexes.get(timeline)
  if (known) return known
  const index: RowIndex = {
    turns: Map.groupBy(timeline.turns, ({ session }) => session),
    calls: Map.groupBy(timeline.calls, ({ session }) => session),
    sessions: new Map(timeline.sessions.map((row) => [row.id, row])),
    sessionsByCall: Map.groupBy(timeline.sessions, ({ call }) => call),
    turnById: new Map(timeline.turns.map((row) => [row.id, row])),
    callById: new Map(timeline.calls.map((row) => [row.id, row])),
    lanes: new Map(timeline.lanes.map((row) => [row.id, row])),
  }
  rowIndexes.set(timeline, index)
  return index
}

const callNodes = new WeakMap<RunView, ReadonlyMap<string, ToolCallNode>>()

/** The call of a row; by its step key the first one. */
export function callOfRow(model: RunView, id: string): ToolCallNode | undefined {
  const known = callNodes.get(model) ?? callsByRow(model)
  callNodes.set(model, known)
  return known.get(id)
}

function callsByRow(model: RunView): ReadonlyMap<string, ToolCallNode> {
  const calls = new Map<string, ToolCallNode>()
  for (const node of nodesIn(model.children)) {
    if (node.kind !== 'call') continue
    calls.set(node.row.id, node)
    if (!calls.has(node.key)) calls.set(node.key, node)
  }
  return calls
}

/** The events of a step in one session: another one may have done it before, or since. */
export function eventsOfStep(events: readonly Event[], key: string, session_id: string | undefined): readonly Event[] {
  const all = eventsWithKey(events, key)
  return session_id === undefined ? all : all.filter((event) => (event.session_id ?? session_id) === session_id)
}
