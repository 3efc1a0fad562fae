import { copyJson } from './copy-json.ts'
import type { Event, EventType, ReservedBudget } from './event.ts'
import { isEvent } from './event.ts'
import type { Usage } from './model.ts'

/* The events that usage and cost are computed from, without conversations, so that a store can read those of thousands of runs. */

export const ACCOUNT_EVENTS = [
  'run:start',
  'session:open',
  'model:begin',
  'model:end',
  'model:error',
  'model:lost',
] as const satisfies readonly EventType[]

interface Position {
  run_id: string
  seq: number
  at: number
  session_id?: string | undefined
}

export interface AccountStart extends Position {
  type: 'run:start'
  data: { pattern: string; forked_from?: { inherited: number } | undefined }
}

export interface AccountSession extends Position {
  type: 'session:open'
  data: { agent: { name: string }; parent_session_id: string | null }
}

export interface AccountBegin extends Position {
  type: 'model:begin'
  data: { key: string; attempt: number; model: string; reserved: ReservedBudget; phase?: 'summary' | undefined }
}

export interface AccountUsage extends Position {
  type: 'model:end' | 'model:error'
  data: { key: string; attempt: number; usage: Usage; usd: number | null; estimated?: true | undefined }
}

export interface AccountLoss extends Position {
  type: 'model:lost'
  data: { key: string; attempt: number; reserved: ReservedBudget }
}

export type AccountOutcome = AccountUsage | AccountLoss

/** Part of an event. Every event of these types is one. */
export type AccountEvent = AccountStart | AccountSession | AccountBegin | AccountOutcome

/** A copy of the part of an event that accounts need; `undefined` if they do not need the event. */
export function accountEventFrom(event: Event): AccountEvent | undefined {
  const { run_id, seq, at, session_id } = event
  const position = { run_id, seq, at, session_id }
  if (isEvent(event, 'run:start')) {
    const { pattern, forked_from } = event.data
    const fork = forked_from && { inherited: forked_from.inherited }
    return { ...position, type: 'run:start', data: { pattern, forked_from: fork } }
  }
  if (isEvent(event, 'session:open')) {
    const { agent, parent_session_id } = event.data
    return { ...position, type: 'session:open', data: { agent: { name: agent.name }, parent_session_id } }
  }
  if (isEvent(event, 'model:begin')) {
    const { key, attempt, model, reserved, phase } = event.data
    return { ...position, type: 'model:begin', data: { key, attempt, model, reserved: copyJson(reserved), phase } }
  }
  if (isEvent(event, 'model:end') || isEvent(event, 'model:error')) {
    const { key, attempt, usage, usd, estimated } = event.data
    return { ...position, type: event.type, data: { key, attempt, usage: copyJson(usage), usd, estimated } }
  }
  if (!isEvent(event, 'model:lost')) return undefined
  const { key, attempt, reserved } = event.data
  return { ...position, type: 'model:lost', data: { key, attempt, reserved: copyJson(reserved) } }
}
