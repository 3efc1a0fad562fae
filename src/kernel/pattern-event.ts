import type { ErrorRecord } from '../errors.ts'
import type { TeamEventData } from './team-event.ts'

/** True for events that patterns emit themselves. */
export function isPatternEvent(type: string): boolean {
  return PATTERN_EVENT.test(type)
}

const PATTERN_EVENT = /^(custom|tool:collaborative|team):/

/** Events emitted by patterns, with the names of the specifications. */
export interface PatternEventData extends TeamEventData {
  'tool:collaborative:start': { key: string; task: string; agents: string[]; mode: string; synthesis: string }
  'tool:collaborative:agent:start': { key: string; agent: string; role: string; subtask?: string }
  'tool:collaborative:agent:complete': {
    key: string
    agent: string
    role: string
    tokens: number
    recommendation?: string
    confidence?: number
  }
  'tool:collaborative:agent:error': { key: string; agent: string; role: string; tokens: number; error: ErrorRecord }
  'tool:collaborative:synthesis:start': { key: string; strategy: string }
  'tool:collaborative:synthesis:complete': { key: string; strategy: string; tokens: number }
  'tool:collaborative:complete': {
    key: string
    agents_count: number
    total_tokens: number
    status: string
    agreement_score: number | null
  }
}
