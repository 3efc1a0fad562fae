import type { ErrorRecord, Event } from '../../../index.ts'

/** An agent at work in a run. The first one that the run opened by itself is the main one: its text is the text of the run. */
export interface RunAgent {
  id: string
  name: string
  description: string
  isMain: boolean
  /** The agent that opened it; `undefined` for the run itself or the main agent. */
  parent: RunAgent | undefined
  /** The call that opened it. */
  call: string | undefined
}

export interface RunQuestion {
  gate_id: string
  question: string
  choices?: readonly string[]
  asked_by?: string
  detail?: unknown
  agent: RunAgent | undefined
  call: string | undefined
}

/** Tokens by model. */
export interface ModelTokens {
  model: string
  input: number
  output: number
  reasoning: number
  cache_read: number
  cache_write: number
}

export type RunOutcome =
  | { status: 'completed'; output: unknown }
  | { status: 'failed'; error: Pick<ErrorRecord, 'code' | 'message'> }
  | { status: 'cancelled'; reason: string }
  | { status: 'waiting'; questions: readonly RunQuestion[] }
  | { status: 'interrupted' }

export type PartType = 'text' | 'reasoning'

/**
 * What front ends are told of a run, whichever protocol they speak. Made from events and text deltas by `RunMessages`; no message is about
 * a particular pattern.
 */
export type RunMessage =
  | { kind: 'start'; run_id: string }
  | { kind: 'agent_start'; agent: RunAgent }
  | { kind: 'agent_end'; agent: RunAgent; status: string; text: string; error: ErrorRecord | null }
  | { kind: 'turn_start'; agent: RunAgent }
  | { kind: 'part_start' | 'part_end'; id: string; type: PartType; agent: RunAgent }
  | { kind: 'part_delta'; id: string; type: PartType; agent: RunAgent; text: string }
  | { kind: 'call'; id: string; tool: string; input: unknown; agent: RunAgent }
  | { kind: 'result'; call: string; output: unknown; error: ErrorRecord | null; agent: RunAgent }
  | { kind: 'question'; question: RunQuestion }
  | { kind: 'answer'; gate_id: string; answer: unknown; by: string }
  | { kind: 'artifact'; name: string; version: number }
  /** An event of a pattern, or one that this version does not know. */
  | { kind: 'event'; event: Event; agent: RunAgent | undefined }
  /** The output of the run, if its main agent has not said it. */
  | { kind: 'output'; id: string; text: string }
  /** `open`: agents that have not ended. */
  | {
      kind: 'end'
      run_id: string
      outcome: RunOutcome
      tokens: readonly ModelTokens[]
      open: readonly RunAgent[]
    }
