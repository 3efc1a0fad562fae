import type { AnswerShape } from '../schema/answer-shape.ts'
import type { Agent } from './agent.ts'
import type { Artifact, ArtifactRef } from './artifact.ts'
import type { Context, RecalledRun, RecallQuery } from './context.ts'
import type { Embedder } from './embedder.ts'
import type { Event } from './event.ts'
import type { Knowledge } from './knowledge.ts'
import type { Limits } from './limits.ts'
import type { Models } from './model.ts'
import type { Pattern, PatternTool } from './pattern.ts'
import type { PatternPart } from './pattern-part.ts'
import type { Permissions } from './permission.ts'
import type { RateLimiter } from './rate-limiter.ts'
import type { Redactor } from './redactor.ts'
import type { RequestMarks } from './request-progress.ts'
import type { RetryPolicy } from './retry-policy.ts'
import type { Roster } from './roster.ts'
import type { RunMetadata } from './run-metadata.ts'
import type { ServerToolNames } from './server-tool-names.ts'
import type { SessionFold } from './session/session-fold.ts'
import type { Answer, AnswerRequest } from './session-request.ts'
import type { SessionResult } from './session-result.ts'
import type { PriceBook } from './spend.ts'
import type { Row, TableQuery } from './table-query.ts'
import type { Tool } from './tool.ts'
import type { SessionWorktrees } from './worktree.ts'
import type { World } from './world.ts'

/** A piece of a streamed model response. `offset` counts the characters before it; a new attempt restarts at 0. */
export interface Delta {
  run_id: string
  session_id: string
  agent: string
  key: string
  attempt: number
  offset: number
  type: 'text' | 'reasoning'
  text: string
}

/** The recorded segments of a session, for resuming it. */
export interface SessionHistory {
  session_id: string
  segment: number
  base: { run_id: string; seq: number }
  /** The conversation up to `base`. */
  fold: SessionFold
}

/** Models, prices and the retry policy. */
export interface ModelPorts {
  models: Models
  prices: PriceBook
  retryPolicy: RetryPolicy
  /** No limit without it. */
  rateLimiter?: RateLimiter
  /** Milliseconds without a byte of the response after which a request is sent again. Default: four minutes. */
  idle_timeout_ms?: number
  /** Without it, lost requests count at what the time allows. */
  requestMarks?: RequestMarks
  /** Summarises long conversations. Default: the session's own model. */
  summaryModel?: string
}

/** Tools, and the rules about calling them. */
export interface ToolPorts {
  /** The tools available now; servers that start later add theirs. */
  tools: ReadonlyMap<string, Tool>
  /** The tool of this name that works in another folder; `undefined` for one that works in none. Throws if there is no such folder. */
  toolIn?(workspace: string, name: string): Tool | undefined
  /** Patterns as tools, under every name that agents know them by. */
  patternTools: ReadonlyMap<string, PatternTool>
  serverToolNames: ServerToolNames
  /** Starts what an agent's tools need, such as servers, before its session begins; `undefined` when all is ready. */
  prepareTools?(agent: Agent): Promise<void> | undefined
  /** The tools that an agent's own servers provide to its session under this key. */
  agentProvidedTools?(agent: Agent, key: string): readonly string[]
  permissions: Permissions
  hooks: readonly PatternPart<'hooks'>[]
  /** Removes secrets from tool results; none are removed without it. */
  redactor?: Redactor
  /** The folder that agents work in, if there is one. */
  workspace?: string
  /** Describes the folder to an agent that works in it, as a section of its system prompt; recorded when its session opens. */
  environment?(session: {
    key: string
    agent: Agent
    tools: readonly string[]
    now: number
    workspace: string | undefined
  }): string | undefined
}

/** Reads past runs, sessions and artifacts from the store. */
export interface HistoryPorts {
  /**
   * Claims a session for a run and returns its history. Throws `unknown_session`, `session_busy`, and `invalid_input`
   * when `agent` is given and the session belongs to another agent.
   */
  claimSession(session_id: string, run: RunInfo, agent: string | undefined): Promise<SessionHistory>
  /**
   * Throws `unknown_session`, which lists the sessions of the run, unless the session or one of its ancestors is in the run: an agent must
   * not read or continue the sessions of other people's runs by their ids (IDOR).
   */
  requireVisibleSession(session_id: string, run: RunInfo): Promise<void>
  /** Called with the events that this process has committed: later claims need not read them. */
  onCommitted?(events: readonly Event[]): void
  readSession(session_id: string, base: { run_id: string; seq: number }): Promise<SessionHistory>
  /** The result of a session that has ended, in whichever run. Throws `unknown_session`. */
  sessionResult(session_id: string, project: string): Promise<SessionResult | undefined>
  readArtifact(run_id: string, name: string, version?: number): Promise<Artifact | undefined>
  listArtifacts(run_id: string): Promise<(ArtifactRef & Pick<Artifact, 'by'>)[]>
  /** The newest result of a session with this `cache_key` that used this model. */
  cachedResult(project: string, cache_key: string, model: string | undefined): Promise<SessionResult | undefined>
  recallRuns(project: string, query: RecallQuery): Promise<RecalledRun[]>
  /** Rows of a pattern's table, in the project and as this run sees them. */
  queryTable(run: RunInfo, query: TableQuery): Promise<Row[]>
}

/** The project that runs work on. */
export interface ProjectPorts {
  /** Reads the profile of the project; without it, nothing is known about the project. */
  projectProfile?(): Promise<PatternPart<'project profile'>>
  /** The git repository of the workspace. */
  repository?: PatternPart<'repository'>
  /** The worktrees of sessions. */
  worktrees?: SessionWorktrees
  /** The knowledge of a project. */
  knowledge?(project: string): Knowledge
  commands?: PatternPart<'commands'>
}

/** How it prompts and reads is no matter of the kernel. */
export type RequestAnswer = <const S extends AnswerShape>(
  context: Pick<Context, 'perform' | 'cachedResult'>,
  request: AnswerRequest<S>,
) => Promise<Answer<S>>

/** Everything outside the kernel, as the kernel sees it. */
export interface Ports extends ModelPorts, ToolPorts, HistoryPorts, ProjectPorts {
  world: World
  roster: Roster
  patterns: ReadonlyMap<string, Pattern>
  /** Decides when a conversation is compacted, and what the loop tells the agent. */
  sessionPolicy: PatternPart<'session policy'> & { prompts: { backgroundResults: string } }
  loadRequests(): Promise<RequestAnswer>
  /** External agents that carry out turns, by the name that agents use (`performer`). */
  performers?: ReadonlyMap<string, PatternPart<'performer'>>
  embedder?: Embedder
  /** Fails on drift between the code and its journal instead of using the record. */
  strict: boolean
  /** Set for a replay: an outcome from outside that the journal does not hold is never produced. */
  replayOnly?: true
  /** Streams text deltas to watchers. */
  publish(delta: Delta): void
}

export interface RunInfo {
  id: string
  project: string
  limits: Limits
  model: string | undefined
  metadata: RunMetadata
  /** Permission rules given at the start of the run. */
  permissions?: unknown
}
