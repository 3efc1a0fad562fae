import type { Timeline, TimelineCall } from '../timeline/timeline.ts'
import { rowIndex } from './event-index.ts'

/* The calls of a session as rows: neighbours that only read are one row, and times in which it waited or was blocked have their own. */

export interface CallRow {
  /** `13`, or `13–19`. */
  number: string | null
  tool: string
  target: string
  state: string
  took: number | null
  error: string | null
}

type Span = { started_at: number; ended_at: number | null }

export function callRows(timeline: Timeline, session: string): Record<string, CallRow[keyof CallRow]>[] {
  const calls = rowIndex(timeline).calls.get(session) ?? []
  const row = rowIndex(timeline).sessions.get(session)
  const isOwn = (owner: string | null) => owner !== null && (owner === session || owner === row?.session_id)
  const rows: (Span & { row: CallRow })[] = []
  for (const group of foldedCalls(calls)) rows.push(callRow(group))
  for (const { session: owner, kind, text, ...span } of timeline.pauses)
    if (kind === 'blocked' && isOwn(owner)) rows.push(waitRow(span, { target: text, state: 'blocked' }))
  for (const { session: owner, question, answer, ...span } of timeline.gates) {
    if (!isOwn(owner)) continue
    const target = answer === null ? question : `${question} ${answer}`
    rows.push(waitRow(span, { target, state: span.ended_at === null ? 'waiting' : 'answered' }))
  }
  return rows.toSorted((one, other) => one.started_at - other.started_at).map(({ row: each }) => ({ ...each }))
}

/** Neighbouring calls of one tool that only read and succeeded; a call that changes something stays alone. */
function foldedCalls(calls: readonly TimelineCall[]): TimelineCall[][] {
  const groups: TimelineCall[][] = []
  for (const call of calls) {
    const last = groups.at(-1)
    const [first] = last ?? []
    if (last && first && isFoldable(call) && isFoldable(first) && first.tool === call.tool) last.push(call)
    else groups.push([call])
  }
  return groups
}

function isFoldable({ category, status, files }: TimelineCall): boolean {
  return category === 'perception' && status === 'ok' && files === 0
}

function callRow(group: readonly TimelineCall[]): Span & { row: CallRow } {
  const [first] = group as [TimelineCall]
  const last = group.at(-1) ?? first
  const span = { started_at: first.started_at, ended_at: last.ended_at }
  const row = {
    number: group.length === 1 ? String(first.number) : `${first.number}–${last.number}`,
    tool: group.length === 1 ? first.tool : `${first.tool} × ${group.length}`,
    target: [...new Set(group.map(({ target }) => target))].join(', '),
    state: first.status === 'ok' ? 'completed' : first.status,
    took: group.length === 1 ? took(span) : group.reduce((sum, call) => sum + (took(call) ?? 0), 0),
    error: first.error,
  }
  return { ...span, row }
}

function waitRow(span: Span, { target, state }: { target: string; state: string }): Span & { row: CallRow } {
  const tool = state === 'blocked' ? 'blocked' : 'question'
  return { ...span, row: { number: null, tool, target, state, took: took(span), error: null } }
}

function took({ started_at, ended_at }: Span): number | null {
  return ended_at === null ? null : ended_at - started_at
}
