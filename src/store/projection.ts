import { TroupeError } from '../errors.ts'
import type { Event, EventOf, RunStart, Status, StopReason } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { NO_USAGE } from '../kernel/model.ts'
import type { Spend } from '../kernel/spend.ts'
import { addSpend, NO_SPEND } from '../kernel/spend.ts'
import type { GateRow, SessionRow } from './store.ts'

const MAX_TITLE_LENGTH = 80

/** The part of a run's row that its events decide. */
export interface RunProjection {
  status: Status
  stop_reason: StopReason | null
  ended_at: number | null
  usage: Spend
}

/** The row of a run before anything has happened to it. */
export const NEW_RUN_PROJECTION: RunProjection = Object.freeze({
  status: 'pending',
  stop_reason: null,
  ended_at: null,
  usage: NO_SPEND,
})

/** The row after this event; the same object when the event changes nothing in it. */
export function projectRun(before: RunProjection, event: Event): RunProjection {
  switch (event.type) {
    case 'run:attempt':
      return { ...before, status: 'running' }
    case 'run:park':
      return { ...before, status: 'waiting' }
    case 'run:interrupt':
      return { ...before, status: 'pending' }
    case 'run:reopen':
      return { ...before, status: 'pending', stop_reason: null, ended_at: null }
    case 'run:end':
      return { ...before, status: event.data.status, stop_reason: event.data.stop_reason, ended_at: event.at }
    default: {
      const usage = addSpend(before.usage, event)
      return usage === before.usage ? before : { ...before, usage }
    }
  }
}

/** The first event of a run, or `invalid_input` if it is something else. */
export function validateRunStart(event: Event): EventOf<'run:start'> {
  if (!isEvent(event, 'run:start') || event.seq !== 1) {
    throw new TroupeError(
      'invalid_input',
      `a run starts with run:start as event 1, not with ${event.type} ${event.seq}`,
    )
  }
  for (const name of [event.run_id, event.data.project, event.data.pattern]) {
    if (!name.isWellFormed())
      throw new TroupeError('invalid_input', `'${name}' holds half a character: no name for a run`)
  }
  return event
}

/** One line for lists: what was asked, or the pattern's name. Never cuts a character in half. */
export function runTitle({ input, pattern }: RunStart): string {
  const asked = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
  for (const field of ['instruction', 'task', 'question', 'message']) {
    const text = asked[field]
    if (typeof text !== 'string') continue
    const line = text
      .slice(0, MAX_TITLE_LENGTH * 8)
      .toWellFormed()
      .replace(WHITESPACE, ' ')
      .trim()
    const characters = [...line]
    if (characters.length > MAX_TITLE_LENGTH)
      return `${characters
        .slice(0, MAX_TITLE_LENGTH - 1)
        .join('')
        .trimEnd()}…`
    if (line !== '') return line
  }
  return pattern
}

const WHITESPACE = /[\s\p{Cc}]+/gu

/** The row of a session whose segment opens with this event. */
export function sessionRowFromOpen(
  before: SessionRow | undefined,
  event: EventOf<'session:open'>,
  project: string,
): SessionRow {
  const { data, run_id } = event
  return {
    session_id: event.session_id ?? '',
    project,
    run_id,
    parent_session_id: data.parent_session_id,
    agent: data.agent.name,
    depth: data.depth,
    status: 'running',
    stop_reason: null,
    segment: data.segment,
    turn_count: before?.turn_count ?? 0,
    text: before?.text ?? '',
    usage: before?.usage ?? { ...NO_USAGE, calls: 0 },
    holder: run_id,
    cache_key: data.cache_key ?? null,
    opened_at: before?.opened_at ?? event.at,
    ended_at: null,
  }
}

/** The row of a session whose segment this event ends. */
export function sessionRowFromEnd(before: SessionRow, event: EventOf<'session:end'>): SessionRow {
  const { status, stop_reason, text, turn_count, usage } = event.data
  return { ...before, status, stop_reason, text, turn_count, usage, holder: null, ended_at: event.at }
}

export function gateRowFromOpen(event: EventOf<'gate:open'>, project: string): GateRow {
  return {
    ...event.data,
    project,
    run_id: event.run_id,
    session_id: event.session_id ?? null,
    opened_at: event.at,
    answered_at: null,
    answer: null,
  }
}

/** The rows an event may change, as a store keeps them. */
export interface ProjectionRows {
  openSession(event: EventOf<'session:open'>): void
  endSession(event: EventOf<'session:end'>): void
  openGate(event: EventOf<'gate:open'>): void
  answerGate(event: EventOf<'gate:answer'>): void
  putArtifact(event: EventOf<'artifact:write'>): void
}

/** Applies an event to sessions, gates and artifacts. An event that fits no row is kept in the journal all the same. */
export function projectEvent(event: Event, rows: ProjectionRows): void {
  switch (event.type) {
    case 'session:open':
      rows.openSession(event)
      return
    case 'session:end':
      rows.endSession(event)
      return
    case 'gate:open':
      rows.openGate(event)
      return
    case 'gate:answer':
      rows.answerGate(event)
      return
    case 'artifact:write':
      rows.putArtifact(event)
      return
    default:
  }
}
