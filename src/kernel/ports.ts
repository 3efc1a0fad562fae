import type { Agent } from './agent.ts'
import type { Artifact, ArtifactRef } from './artifact.ts'
import type { RecalledRun, RecallQuery } from './context.ts'
import type { Embedder } from './embedder.ts'
import type { Event } from './event.ts'
import type { Hooks } from './hook.ts'
import type { Limits } from './limits.ts'
import type { Models } from './model.ts'
import type { Pattern, PatternTool } from './pattern.ts'
import type { Permissions } from './permission.ts'
import type { PriceBook } from './price.ts'
import type { RetryPolicy } from './retry-policy.ts'
import type { Roster } from './roster.ts'
import type { SessionResult } from './session/session-state.ts'
import type { Tool } from './tool.ts'
import type { World } from './world.ts'

/** Words of an answer while it is written. `offset` counts the characters before it; a new attempt starts over. */
export interface Delta {
  run_id: string
  session_id: string
  key: string
  attempt: number
  offset: number
  type: 'text' | 'reasoning'
  text: string
}

/** What a session's past looks like to someone who wants to continue it. */
export interface SessionHistory {
  session_id: string
  segment: number
  base: { run_id: string; seq: number }
  events: readonly Event[]
}

/** The outside, as the kernel sees it. */
export interface Ports {
  world: World
  models: Models
  prices: PriceBook
  retryPolicy: RetryPolicy
  /** What summarises long conversations; absent: the session's own model. */
  summaryModel?: string
  roster: Roster
  /** What there is now: servers that are started later add theirs. */
  tools: ReadonlyMap<string, Tool>
  /** Gets ready what an agent's tools need, such as servers, before a session of it begins; `undefined`: it is. */
  prepareTools?(agent: Agent): Promise<void> | undefined
  /** The tools that an agent brings along itself, for its session under this key. */
  agentProvidedTools?(agent: Agent, key: string): readonly string[]
  patterns: ReadonlyMap<string, Pattern>
  /** Patterns as tools, under every name agents know them by. */
  patternTools: ReadonlyMap<string, PatternTool>
  hooks: readonly Hooks[]
  permissions: Permissions
  /** The folder that agents work in, where there is one. */
  workspace?: string
  strict: boolean
  /** Turns texts into vectors, where there is something that can. */
  embedder?: Embedder
  /** Set for a replay: a step that the journal does not know waits instead of happening. */
  replayOnly?: true
  publish(delta: Delta): void
  /**
   * Takes hold of a session for a run and returns its past. `unknown_session`, `session_busy`, and `invalid_input` when
   * `agent` is given and the session is another agent's.
   */
  claimSession(session_id: string, run: RunInfo, agent: string | undefined): Promise<SessionHistory>
  readSession(session_id: string, base: { run_id: string; seq: number }): Promise<SessionHistory>
  /** The result of a session that has ended, whichever run it was in. `unknown_session`. */
  sessionResult(session_id: string, project: string): Promise<SessionResult | undefined>
  readArtifact(run_id: string, name: string, version?: number): Promise<Artifact | undefined>
  listArtifacts(run_id: string): Promise<Omit<ArtifactRef, 'size'>[]>
  cachedResult(project: string, cache_key: string): Promise<SessionResult | undefined>
  recallRuns(project: string, query: RecallQuery): Promise<RecalledRun[]>
}

export interface RunInfo {
  id: string
  project: string
  limits: Limits
  model: string | undefined
  /** Rules for tool calls that were set when the run was started. */
  permissions?: unknown
}
