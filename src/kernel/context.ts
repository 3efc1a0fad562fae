import type { z } from 'zod'
import type { TroupeError } from '../errors.ts'
import type { Agent } from './agent.ts'
import type { Artifact, ArtifactRef } from './artifact.ts'
import type { Embedder } from './embedder.ts'
import type { EventDataOf, PatternEventType, SessionOpen } from './event.ts'
import type { Question } from './gate.ts'
import type { ArtifactVersion } from './journal/journal-index.ts'
import type { Limits } from './limits.ts'
import type { ImagePart, Message } from './model.ts'
import type { Roster } from './roster.ts'
import type { Spend } from './session/ledger.ts'
import type { SessionResult } from './session/session-state.ts'
import type { Thread } from './session/thread.ts'
import type { SteeringCommand } from './steer-action.ts'
import type { ToolKind } from './tool.ts'

/** The session whose tool call a pattern answers. */
export interface Caller {
  session_id: string
  opening: SessionOpen
  tools: readonly string[]
  /** In plan mode: it and those it starts may change nothing. */
  planMode: boolean
  /** Its conversation up to the call. */
  messages: readonly Message[]
}

export interface PerformRequest {
  instruction: string
  /** Continue this session instead of opening a new one; it keeps its agent, model, tools and depth. */
  resume?: string
  model?: string
  /** The tools a top-level agent starts from; a sub-agent inherits from its caller. */
  tools?: readonly string[]
  /** Of the tools it would have, only those that look and nothing more: none that acts, delegates or asks anybody. */
  readOnly?: true
  /** The pattern's own work, such as writing up what others said: by an agent without tools that nobody chose. */
  internal?: true
  /** What was said before, shared with other sessions; such a session cannot be resumed by itself. */
  thread?: Thread
  cache_key?: string
  background?: boolean
  images?: readonly ImagePart[]
  /** The answer is to be an object of this shape: checked, and sent back once if it does not fit. */
  output?: z.ZodType
  /** An answer in words will do as well: it ends the session as it is, without an object. */
  allowText?: true
}

export interface RecallQuery {
  pattern: string
  run_id?: string
  limit?: number
}

/** A completed run: what was asked and what came of it. */
export interface RecalledRun {
  run_id: string
  input: unknown
  output: unknown
}

/** Where another pattern runs, and what it is told that no input says. */
export interface SubRunOptions {
  key: string
  /** Whose part it is: it returns to that one instead of the user. */
  parentName?: string
  /** Agents that it finds by their names before those of the roster. */
  agents?: readonly Agent[]
}

export type SettledResult<T> = { ok: true; value: T } | { ok: false; error: TroupeError }

export interface StepOptions {
  /** What a repetition would do; an effect that acts is begun in the journal first. Default `read`. */
  kind?: Exclude<ToolKind, 'pattern'>
  /** Hashed and compared on resume, to notice that the code now asks something else. */
  input?: unknown
  version?: number
}

/** All that a pattern sees. Keys are relative to where it stands; none may be used twice in one execution. */
export interface Context {
  readonly run_id: string
  readonly project: string
  readonly limits: Limits
  readonly roster: Roster
  readonly caller: Caller | undefined
  /** Whose part this is, where the pattern that runs it says so. */
  readonly parentName: string | undefined
  /** Turns texts into vectors, where there is something that can; to be asked within a step only. */
  readonly embedder: Embedder | undefined
  /** True when nothing this agent could call here would change anything. */
  isReadOnly(agent: Agent, as?: Pick<PerformRequest, 'readOnly'>): boolean
  /** Those of these names that stand for no tool here; what servers bring is not asked. Within a step only. */
  unknownTools(names: readonly string[]): { name: string; known: string[] }[]
  /** Why no model of this name can be had here; `undefined` when one can. Within a step only. */
  modelProblem(name: string): Promise<string | undefined>
  /** True when a tool of this name puts other agents to work. */
  delegates(tool: string): boolean
  /** The id a session opened with this key will have. */
  sessionId(key: string, agent: string): string
  /** Runs an agent's session to its end. A failure is in the result, never thrown; bad requests are thrown. */
  perform(agent: Agent | undefined, request: PerformRequest, at: { key: string }): Promise<SessionResult>
  /** Starts a session that works while the caller goes on; returns its id. The caller's own end waits for it. */
  startBackground(agent: Agent, request: PerformRequest, at: { key: string }): Promise<string>
  /** The result of a session by its id; `undefined` while it works, unless asked to wait. */
  collect(key: string, session_id: string, wait: boolean): Promise<SessionResult | undefined>
  step<T>(key: string, effect: (signal: AbortSignal) => T | Promise<T>, options?: StepOptions): Promise<T>
  /** Opens a gate and waits for a human's answer, across restarts if need be. */
  ask(key: string, question: Question): Promise<unknown>
  /** What people asked of the run since it was last asked for; the same on every replay. For patterns with `steer`. */
  takeSteering(key: string): Promise<SteeringCommand[]>
  /** Another pattern, as a subtree of this run. */
  run(pattern: string, input: unknown, at: SubRunOptions): Promise<unknown>
  /** Works on all items, `limit` at a time, failures kept apart, results in item order. */
  parallel<T, R>(
    items: readonly T[],
    limit: number,
    work: (item: T, index: number) => Promise<R>,
  ): Promise<SettledResult<R>[]>
  /** The name of the branch that finished first; the same on every replay. Losers go on. */
  first(key: string, branches: Readonly<Record<string, Promise<unknown>>>): Promise<string>
  emit<T extends PatternEventType>(key: string, type: T, data: Omit<EventDataOf<T>, 'key'>): void
  /** What the run, all that hangs under this pattern, or what hangs under a key of it has spent, as read at this key. */
  spent(key: string, of?: 'run' | 'here' | { under: string }): Promise<Spend>
  now(key: string): Promise<number>
  random(key: string): Promise<number>
  writeArtifact(key: string, artifact: { name: string; content: string; media_type?: string }): Promise<ArtifactRef>
  /** An artifact of this run, the newest version unless one is named; which version it was is remembered. */
  readArtifact(key: string, artifact: { name: string; version?: number }): Promise<Artifact | undefined>
  /** What was written under this key, oldest first; to be asked when the work there has ended. */
  artifactsUnder(key: string): readonly ArtifactVersion[]
  /** Every version of every artifact of this run, oldest first. */
  artifacts(key: string): Promise<Omit<ArtifactRef, 'size'>[]>
  /** What earlier runs of this project came to, the newest first: of one pattern, or of one run. */
  recall(key: string, query: RecallQuery): Promise<RecalledRun[]>
  /** The result an earlier session of this project left under this cache key, if any. */
  cachedResult(key: string, cache_key: string): Promise<SessionResult | undefined>
}
