import type { Event, EventOf } from '../../kernel/event.ts'
import { pluralize } from '../format-amount.ts'
import type { PanelBlock, PanelFact } from '../panel.ts'
import type { TimelineSession } from '../timeline/timeline.ts'
import { recordedCall } from './call-detail.ts'
import type { Detail, DetailSection } from './detail.ts'
import type { DetailScope } from './detail-scope.ts'
import { rowIndex } from './event-index.ts'
import { callTable, endOf, instructionOf, laneLabel, segmentEvents, turnTable } from './timeline-rows.ts'
import { errorFacts } from './turn-detail.ts'
import { valueBlocks } from './value-blocks.ts'

/* A session: what it was told, what it did, and what came of it. A delegation is the same with the contracts at both ends. */

export function sessionDetail(scope: DetailScope, id: string): Detail | undefined {
  const row = rowIndex(scope.timeline()).sessions.get(id)
  if (!row) return undefined
  const events = segmentEvents(scope, row)
  return {
    ...commonFields(scope, row, events),
    ref: { kind: 'session', id },
    kind: 'Session',
    sections: [
      { title: 'Instruction', blocks: taskBlocks(scope, events) },
      workSection(scope, row),
      ...outputSections(scope, row, events),
    ],
  }
}

/** `id` is a call, as in addresses, or a link of the timeline. */
export function delegationDetail(scope: DetailScope, id: string): Detail | undefined {
  const timeline = scope.timeline()
  const { sessions, sessionsByCall, callById } = rowIndex(timeline)
  const called = sessionsByCall.get(id)
  const link = called ? undefined : timeline.links.find((each) => each.id === id)
  const linked = sessions.get(link?.to_session ?? '')
  const rows = called ?? (linked ? [linked] : [])
  const [row] = rows
  if (!row) return undefined
  const events = segmentEvents(scope, row)
  const call = row.call === null ? undefined : recordedCall(scope, row.call)
  const input = call ? valueBlocks(scope.redact(call.input)) : taskBlocks(scope, events)
  const number = callById.get(row.call ?? '')?.number
  return {
    ...commonFields(scope, row, events),
    ref: { kind: 'delegation', id },
    kind: number === undefined ? 'Delegation' : `Delegation, call ${number}`,
    sections: [
      { title: 'Input', ...(call ? { note: call.node.tool } : undefined), blocks: input },
      ...rows.flatMap((each) => [workSection(scope, each), ...outputSections(scope, each, segmentEvents(scope, each))]),
    ],
  }
}

function commonFields(scope: DetailScope, row: TimelineSession, events: readonly Event[]) {
  const timeline = scope.timeline()
  const parent = rowIndex(timeline).sessions.get(row.parent ?? '')
  return {
    title: row.title,
    from: laneLabel(timeline, parent?.lane ?? null),
    to: laneLabel(timeline, row.lane),
    state: row.status,
    facts: sessionFacts(scope, row),
    json: events.filter(({ type }) => type.startsWith('session:')),
  }
}

function sessionFacts(scope: DetailScope, row: TimelineSession): PanelFact[] {
  const { turns, calls } = rowIndex(scope.timeline())
  const own = turns.get(row.id) ?? []
  const usd = own.reduce<number | null>((sum, turn) => (sum === null || turn.usd === null ? null : sum + turn.usd), 0)
  return [
    { label: 'started', value: row.started_at, unit: 'time' },
    ...(row.ended_at === null
      ? []
      : [{ label: 'duration', value: row.ended_at - row.started_at, unit: 'ms' as const }]),
    { label: 'turns', value: own.length, unit: 'count' },
    { label: 'calls', value: calls.get(row.id)?.length ?? 0, unit: 'count' },
    { label: 'tokens', value: own.reduce((sum, { tokens }) => sum + tokens.input + tokens.output, 0), unit: 'tokens' },
    { label: 'cost', value: usd, unit: 'usd' },
    ...(row.stop_reason === null ? [] : [{ label: 'ended', value: row.stop_reason }]),
    ...(row.vote ? [{ label: 'vote', value: row.vote.text, ...voteTone(row.vote.won) }] : []),
  ]
}

function voteTone(won: boolean | null): { tone?: 'good' | 'muted' } {
  return won === null ? {} : { tone: won ? 'good' : 'muted' }
}

function taskBlocks({ redact }: DetailScope, events: readonly Event[]): PanelBlock[] {
  const text = instructionOf(events)
  return text === '' ? [{ kind: 'text', text: 'No instruction yet.' }] : [{ kind: 'text', text: redact(text) }]
}

function workSection(scope: DetailScope, row: TimelineSession): DetailSection {
  const timeline = scope.timeline()
  const rows = rowIndex(timeline)
  const turns = rows.turns.get(row.id)?.length ?? 0
  const calls = rows.calls.get(row.id)?.length ?? 0
  const blocked = timeline.pauses.filter(({ kind, session }) => kind === 'blocked' && session === row.id)
  return {
    title: 'Sub-session',
    note: `${pluralize(turns, 'turn')}, ${pluralize(calls, 'call')}`,
    blocks: [
      ...turnTable(timeline, row.id),
      callTable(timeline, row.id),
      ...blocked.map(({ text }) => ({ kind: 'text' as const, title: 'Blocked', text })),
    ],
  }
}

/** The result: the output of the pattern's contract, the structured output, or the text, with whether it is valid. */
function outputSections(scope: DetailScope, row: TimelineSession, events: readonly Event[]): DetailSection[] {
  const end = endOf(events)
  const contract = contractOutput(scope, row)
  if (!end && contract === undefined) return []
  const object = contract ?? end?.data.object
  const validity = outputValidity(end, object !== undefined)
  const blocks: PanelBlock[] = [
    ...(end?.data.error ? [{ kind: 'facts' as const, facts: errorFacts(scope.redact(end.data.error)) }] : []),
    ...valueBlocks(scope.redact(object)),
  ]
  const text = end?.data.text ?? ''
  const agent = rowIndex(scope.timeline()).lanes.get(row.lane)?.agent
  if (text !== '' && object === undefined)
    blocks.push({
      kind: 'text',
      text: scope.redact(text),
      ...(agent === undefined ? undefined : { claimed_by: agent }),
    })
  if (end?.data.worktree) blocks.push({ kind: 'json', title: 'Changes', value: end.data.worktree })
  if (blocks.length === 0) blocks.push({ kind: 'text', text: 'No text.' })
  return [{ title: 'Output', ...validity, blocks }]
}

function outputValidity(end: EventOf<'session:end'> | undefined, isStructured: boolean): Partial<DetailSection> {
  if (end?.data.error) return { note: end.data.stop_reason, tone: 'bad' }
  return isStructured ? { note: 'valid', tone: 'good' } : {}
}

/** The validated output that a pattern recorded for one of its sessions. */
function contractOutput(scope: DetailScope, row: TimelineSession): Record<string, unknown> | undefined {
  const session = scope.model().sessions.get(row.session_id)
  if (!session || row.ended_seq === null) return undefined
  const { agent, key, instruction } = session
  const entry = { key, agent: { agent_id: agent, agent_type: agent }, instruction }
  for (const { view, state } of scope.model().patterns) {
    const output = view.sessionFile?.session?.(state, entry)?.output
    if (output) return output
  }
  return undefined
}
