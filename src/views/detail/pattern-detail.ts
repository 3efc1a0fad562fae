import type { Event, EventOf } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import type { PanelBlock } from '../panel.ts'
import { tableBlock } from '../panel-blocks.ts'
import type { EventExplanation } from '../pattern-view.ts'
import { isPatternEvent, runViewFrom } from '../run-view.ts'
import type { Detail, DetailSection } from './detail.ts'
import type { DetailScope } from './detail-scope.ts'
import { eventIndex } from './event-index.ts'
import { endOf, laneLabel, segmentEvents } from './timeline-rows.ts'
import { isObject, valueBlocks } from './value-blocks.ts'

/* Handoffs, messages and votes: rows that an event of a pattern made, explained by the view of that pattern. */

/** What the view of its pattern says about an event, with the state of that moment. */
function explanationOf({ events, options }: DetailScope, event: Event): EventExplanation | undefined {
  if (!isPatternEvent(event)) return undefined
  const { patterns } = runViewFrom(
    eventIndex(events).ofPatterns.filter(({ seq }) => seq <= event.seq),
    (options.views ?? []).filter(({ view, events: types }) => view.explain && types.includes(event.type)),
  )
  for (const { view, state } of patterns) {
    try {
      const explanation = view.explain?.(state, event)
      if (explanation) return explanation
    } catch {
      // Written by another version of the pattern: its fields are shown instead.
    }
  }
  return undefined
}

function eventSections({ redact }: DetailScope, event: Event | undefined, found: EventExplanation | undefined) {
  if (!event) return []
  const sections: DetailSection[] = found
    ? [{ title: 'Explanation', blocks: [{ kind: 'facts', facts: found.facts }, ...found.blocks] }]
    : [{ title: 'Content', note: event.type, blocks: valueBlocks(redact(event.data)) }]
  return sections
}

export function handoffDetail(scope: DetailScope, id: string): Detail | undefined {
  const timeline = scope.timeline()
  const row = timeline.links.find((link) => link.id === id)
  if (!row) return undefined
  const event = eventIndex(scope.events).bySeq.get(row.seq)
  const explanation = event && explanationOf(scope, event)
  return {
    ref: { kind: 'handoff', id },
    kind: row.kind === 'handoff' ? 'Handoff' : row.kind === 'consultation' ? 'Consultation' : 'Link',
    title: explanation?.title ?? row.label,
    from: laneLabel(timeline, row.from),
    to: laneLabel(timeline, row.to),
    state: row.ended_seq === null ? 'running' : 'completed',
    facts: [
      { label: 'at', value: row.started_at, unit: 'time' },
      ...(row.label === '' ? [] : [{ label: 'because', value: row.label }]),
    ],
    sections: eventSections(scope, event, explanation),
    json: event ? [event] : [],
  }
}

export function messageDetail(scope: DetailScope, id: string): Detail | undefined {
  const timeline = scope.timeline()
  const row = timeline.messages.find((message) => message.id === id)
  if (!row) return undefined
  const event = eventIndex(scope.events).bySeq.get(row.seq)
  const explanation = event && explanationOf(scope, event)
  return {
    ref: { kind: 'message', id },
    kind: `Message, ${row.type.replaceAll('_', ' ')}`,
    title: row.text,
    from: laneLabel(timeline, row.from),
    to: laneLabel(timeline, row.to),
    state: '',
    facts: [
      { label: 'at', value: row.at, unit: 'time' },
      { label: 'type', value: row.type, unit: 'code' },
    ],
    sections: [
      ...wordSections(scope, event, laneLabel(timeline, row.from)),
      ...(isSessionEvent(event) ? [] : eventSections(scope, event, explanation)),
    ],
    json: event ? [event] : [],
  }
}

function isSessionEvent(event: Event | undefined): boolean {
  return event !== undefined && (isEvent(event, 'session:end') || isEvent(event, 'session:input'))
}

/** The whole message between sessions: a task, or the words of an agent as a claim. */
function wordSections({ redact }: DetailScope, event: Event | undefined, from: string | null): DetailSection[] {
  if (!event) return []
  if (isEvent(event, 'session:input')) {
    const { text } = redact({ text: inputText(event.data.message) })
    return [{ title: 'Instruction', blocks: [{ kind: 'code', text }] }]
  }
  if (!isEvent(event, 'session:end')) return []
  const { text, error } = redact(event.data)
  const fields = parseObject(text)
  const words: PanelBlock[] = fields
    ? valueBlocks(fields)
    : [{ kind: 'text', text, ...(from === null ? undefined : { claimed_by: from }) }]
  return [
    ...(text === '' ? [] : [{ title: 'Answer', blocks: words }]),
    ...(error === null ? [] : [{ title: 'Error', tone: 'bad' as const, blocks: valueBlocks(error) }]),
  ]
}

function inputText({ content }: EventOf<'session:input'>['data']['message']): string {
  return content.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n')
}

function parseObject(text: string): Record<string, unknown> | undefined {
  if (!text.trimStart().startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The vote of a session; `id` is that of the session. */
export function voteDetail(scope: DetailScope, id: string): Detail | undefined {
  const timeline = scope.timeline()
  const row = timeline.sessions.find((session) => session.id === id)
  if (!row?.vote) return undefined
  const { won, text } = row.vote
  const events = segmentEvents(scope, row)
  const agent = laneLabel(timeline, row.lane)
  const others = timeline.sessions.filter(({ vote, group }) => vote && group === row.group)
  return {
    ref: { kind: 'vote', id },
    kind: 'Vote',
    title: text,
    from: agent,
    to: null,
    state: won === null ? 'pending' : won ? 'completed' : 'cancelled',
    facts: [
      { label: 'position', value: text },
      { label: 'result', value: won === null ? 'not decided' : won ? 'won' : 'dissent', tone: won ? 'good' : 'muted' },
    ],
    sections: [
      ...wordSections(scope, endOf(events), agent),
      {
        title: 'All votes',
        blocks: tableBlock({}, others, {
          agent: ['Specialist', ({ lane }) => laneLabel(timeline, lane), 'agent'],
          vote: ['Vote', ({ vote }) => vote?.text ?? ''],
          won: ['Won', ({ vote }) => vote?.won],
        }),
      },
    ],
    json: events.filter(({ type }) => type === 'session:end'),
  }
}
