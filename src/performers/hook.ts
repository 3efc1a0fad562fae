import type { Event } from '../kernel/event.ts'
import type { Effort, Message } from '../kernel/model.ts'
import type { PatternPart } from '../kernel/pattern-part.ts'
import type { RunMetadata } from '../kernel/run-metadata.ts'

/** Where a hook is asked. */
export interface HookScope {
  run_id: string
  session_id: string
  agent: string
  /** Tags and context of the run. */
  run: RunMetadata
}

/** A tool call before it executes. */
export interface ProposedToolCall extends HookScope {
  tool: string
  input: unknown
}

/** `deny` denies the call with a reason, `input` replaces its input, `undefined` lets it pass. */
export type HookVerdict = { deny: string } | { input: unknown } | undefined

/** Text for the conversation; with `pin`, compaction keeps it whole. */
export type AddedContext = string | { text: string; pin: true } | undefined

/** A turn before its model request. */
export interface ProposedTurn extends HookScope {
  turn: number
}

/** A model request before it is sent. */
export interface ProposedModelRequest extends HookScope {
  turn: number
  model: string
  system: string
  messages: readonly Message[]
  /** Names of the tools that the model sees. */
  tools: readonly string[]
  /** Set for the summary of a long conversation, which is no turn. */
  phase?: 'summary'
}

/** Changes to one request. The conversation itself stays as it is. */
export interface ModelRequestChanges {
  system?: string
  messages?: readonly Message[]
  settings?: { temperature?: number; effort?: Effort }
}

/** `deny` ends the session with a reason, `request` changes the request, `undefined` lets it pass. */
export type ModelVerdict = { deny: string } | { request: ModelRequestChanges } | undefined

/** The final answer of a session before anyone gets it. */
export interface ProposedAnswer extends HookScope {
  turn: number
  /** 0 for the first agent of a run. */
  depth: number
  text: string
  /** The structured output, if the session has an `output` schema. */
  object?: unknown
}

/** `deny` sends the answer back to the agent with a reason, `text` replaces it, `undefined` lets it pass. */
export type AnswerVerdict = { deny: string } | { text: string } | undefined

/**
 * Hooks of a program. Verdicts are recorded as steps, so a resumed or replayed run does not ask again. A hook that throws or
 * does not return within two minutes denies (`beforeTool`) or ends the session with `hook_failed` (`beforeModel`,
 * `beforeAnswer`). `onEvent` runs after the commit, at least once per event, which is frozen.
 */
export interface Hooks extends PatternPart<'hooks'> {
  /** Recorded with each run, so that only a process with a hook of this name continues it. Default: its hook points count. */
  name?: string
  onEvent?(event: Event): void
  beforeTool?(call: ProposedToolCall): HookVerdict | Promise<HookVerdict>
  /** Text to add to the conversation before this model request. */
  addContext?(turn: ProposedTurn): AddedContext | Promise<AddedContext>
  /** Guardrail for every model request, including those of sub-sessions and summaries. */
  beforeModel?(request: ProposedModelRequest): ModelVerdict | Promise<ModelVerdict>
  /** Guardrail for the final answer of every session. Text deltas are streamed before it is asked. */
  beforeAnswer?(answer: ProposedAnswer): AnswerVerdict | Promise<AnswerVerdict>
}
