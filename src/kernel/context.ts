import type { ErrorRecord, TroupeError } from '../errors.ts'
import type { AnswerShape } from '../schema/answer-shape.ts'
import type { Agent } from './agent.ts'
import type { Artifact, ArtifactRef, ArtifactVersion } from './artifact.ts'
import type { Embedder } from './embedder.ts'
import type { SessionOpen, StopReason } from './event.ts'
import type { Question } from './gate.ts'
import type { Knowledge } from './knowledge.ts'
import type { Limits } from './limits.ts'
import type { Message, Usage } from './model.ts'
import type { PatternPart } from './pattern-part.ts'
import type { Redactor } from './redactor.ts'
import type { Roster } from './roster.ts'
import type { RunMetadata } from './run-metadata.ts'
import type { Answer, AnswerRequest, PerformRequest, RequestedRights } from './session-request.ts'
import type { SessionResult } from './session-result.ts'
import type { Spend } from './spend.ts'
import type { SteerAction, SteeringCommand } from './steer-action.ts'
import type { Row, TableQuery } from './table-query.ts'
import type { ToolKind } from './tool.ts'

/** The session whose tool call started a pattern. */
export interface Caller {
  session_id: string
  opening: SessionOpen
  tools: readonly string[]
  /** In plan mode the session and its sub-sessions change nothing. */
  planMode: boolean
  /** The conversation up to the call. */
  messages: readonly Message[]
}

export interface CollectOptions {
  wait: boolean
  /** The pattern has checked itself that the calling agent may read this session of any run of the project. */
  scope?: 'project'
}

export interface RecallQuery {
  pattern: string
  run_id?: string
  limit?: number
}

/** A completed run. */
export interface RecalledRun {
  run_id: string
  input: unknown
  output: unknown
}

export interface SubRunOptions {
  key: string
  /** The agent on whose behalf the pattern runs; it returns to that agent instead of the user. */
  parentName?: string
  /** Agents that take precedence over the roster's. */
  agents?: readonly Agent[]
  /** Called when the pattern calls `setPartialOutput`, with what reads its partial output. */
  onPartialOutput?: (read: PartialOutputReader) => void
  /** Called when the pattern succeeded without the work that these errors cost it, which `resume` can retry. */
  onIncomplete?: (errors: readonly ErrorRecord[]) => void
}

export type SettledResult<T> = { ok: true; value: T } | { ok: false; error: TroupeError }

export interface StepOptions {
  /** Effect of a repetition. `act` is write-ahead: `step:begin` is committed first. Default: `read`. */
  kind?: Exclude<ToolKind, 'pattern'>
  /** Hashed and compared on resume to detect drift. */
  input?: unknown
  version?: number
}

/** What changes while a run works: read by the effect of a step, it is recorded with the result of that. */
export interface Readings {
  now(): number
  spend(scope?: SpendScope): Spend
  query(query: TableQuery): Promise<Row[]>
}

/** Facts about the run and the caller, fixed while the pattern executes. */
export interface RunContext {
  readonly run_id: string
  readonly project: string
  /** The key that those of this pattern are below; empty for the pattern of the run. */
  readonly path: string
  readonly limits: Limits
  readonly metadata: RunMetadata
  readonly roster: Roster
  readonly caller: Caller | undefined
  /** The agent on whose behalf a parent pattern runs this one. */
  readonly parentName: string | undefined
  /** True when no tool that this agent could call here changes anything. */
  isReadOnly(agent: Agent, request?: RequestedRights): boolean
  /** True when a tool of this name delegates to other agents. */
  delegates(tool: string): boolean
}

/** Looks things up, inside a step only: what is found may differ the next time. */
export interface LookupContext {
  /** The names that match no tool here; server tools are not checked. */
  unknownTools(names: readonly string[]): { name: string; known: string[] }[]
  /** The reason why this model cannot be used here; `undefined` when it can. A model may choose only those that the operator configured. */
  modelProblem(name: string, chosenBy?: 'operator' | 'model'): Promise<string | undefined>
  /** The profile of the project, from its files, if there are any. Throws `invalid_input` for a wrong profile file. */
  projectProfile(): Promise<PatternPart<'project profile'> | undefined>
  /** Removes secrets from texts; it knows values of the environment. */
  readonly redactor: Redactor | undefined
  /** Git worktrees beside the workspace, in a step of kind `idempotent`. `undefined` without a workspace. */
  readonly repository: PatternPart<'repository'> | undefined
  /** Runs commands in the sandbox. `undefined` where agents cannot run commands either. */
  readonly commands: PatternPart<'commands'> | undefined
  /** Turns texts into vectors. */
  readonly embedder: Embedder | undefined
  /** The knowledge of the project of this run. */
  readonly knowledge: Knowledge | undefined
}

/** The output of a run that ends, for this reason and with this spend, before its pattern returns. */
export type PartialOutput = (stop_reason: StopReason, spent: Spend) => unknown

/** Reads the partial output of a run or sub-run. */
export type PartialOutputReader = (stop_reason: StopReason) => unknown

/** Runs agents and other patterns. */
export interface SessionContext {
  /** The id of the session that this key opens. */
  sessionId(key: string, agent: string): string
  /** Runs an agent's session to its end. A failure is in the result, never thrown; invalid requests are thrown. */
  perform(agent: Agent | undefined, request: PerformRequest, options: { key: string }): Promise<SessionResult>
  /** Asks an agent for a typed answer. A failure is in the answer, never thrown. */
  request<const S extends AnswerShape>(request: AnswerRequest<S>): Promise<Answer<S>>
  /** Starts a background session and returns its id. The caller does not end before it does. */
  startBackground(agent: Agent, request: PerformRequest, options: { key: string }): Promise<string>
  /** The result of a session; `undefined` while it runs, unless `wait` is set. An agent gets results of its run's tree only. */
  collect(key: string, session_id: string, options: CollectOptions): Promise<SessionResult | undefined>
  /**
   * True if one of these requests with `keep` had begun before `resume` retried what they depend on: they count, even if they would not be asked now.
   * Recorded if so.
   */
  hasKept(key: string, requests: readonly string[]): Promise<boolean>
  /** Runs another pattern as a subtree of this run. */
  run(pattern: string, input: unknown, options: SubRunOptions): Promise<unknown>
}

/** Facts that change while a run works. Each is read once and recorded under its key; the effect of a step reads several with `Readings`. */
export interface FactContext {
  now(key: string): Promise<number>
  random(key: string): Promise<number>
  /** The spend of the run, of this pattern's subtree, or of everything under one of its keys. */
  readSpend(key: string, scope?: SpendScope): Promise<Spend>
  /** The cost of this usage with another model, at today's prices; `usd` is `null` if the price is unknown. */
  priceUsage(
    key: string,
    usage: Usage,
    model: string | undefined,
  ): Promise<{ model: string | null; usd: number | null }>
  /**
   * The result that an earlier session of this project stored under `cache_key`, if it used the model that a new one would use:
   * `model`, or else the model of the caller or the run.
   */
  cachedResult(key: string, cache_key: string, model?: string): Promise<SessionResult | undefined>
  /** Completed runs of this project, newest first: of one pattern, or one run. */
  recall(key: string, query: RecallQuery): Promise<RecalledRun[]>
  /**
   * Rows of a pattern's table, of all runs of this project, with everything that this run has emitted so far. Of rows that a fork
   * inherited, each is returned once: the own one of this run, otherwise the original.
   */
  query(key: string, query: TableQuery): Promise<Row[]>
  /** True when the journal has an outcome of this step: code that reads more at once goes on with what its older version has read. */
  isRecorded(key: string): boolean
}

/** The data of each event that a pattern declares, by type. */
export type EventDataByType = Readonly<Record<string, unknown>>

/** Durable steps: everything that steers a pattern is recorded under a key and is the same on every replay. */
export interface StepContext<Events extends EventDataByType = EventDataByType> {
  step<T>(
    key: string,
    effect: (signal: AbortSignal, readings: Readings) => T | Promise<T>,
    options?: StepOptions,
  ): Promise<T>
  /** Opens a gate and waits for a person's answer, across restarts. */
  ask(key: string, question: Question): Promise<unknown>
  /** Steering commands that nobody took so far; `accepts` selects among them. For patterns with `checkSteer`. */
  takeSteering(key: string, accepts?: (action: SteerAction) => boolean): Promise<SteeringCommand[]>
  /** Works on all items, at most `limit` at a time; results keep the order of the items, and failures stay apart. */
  parallel<T, R>(
    items: readonly T[],
    limit: number,
    work: (item: T, index: number) => Promise<R>,
  ): Promise<SettledResult<R>[]>
  /** The name of the branch that finished first. The other branches continue. */
  first(key: string, branches: Readonly<Record<string, Promise<unknown>>>): Promise<string>
  /** Records an event that the pattern declares in `events`. Throws `invalid_event` if the data does not match its schema. */
  emit<T extends keyof Events & string>(key: string, type: T, data: Events[T]): void
  /**
   * Sets what a run that is cancelled, times out or fails keeps as its `output`. In a sub-run, the caller of `run` gets it with
   * `onPartialOutput`; in a tool call it has no effect.
   */
  setPartialOutput(read: PartialOutput): void
}

export type SpendScope = 'run' | 'here' | { under: string }

/** Named, versioned pieces of work. */
export interface ArtifactContext {
  writeArtifact(key: string, artifact: { name: string; content: string; media_type?: string }): Promise<ArtifactRef>
  /** An artifact of this run: the newest version, unless one is named. The version is recorded, the content is read again. */
  readArtifact(key: string, artifact: { name: string; version?: number }): Promise<Artifact | undefined>
  /** Versions written under this key, oldest first; complete once the work there has ended. */
  artifactsUnder(key: string): readonly ArtifactVersion[]
  /** Every version of every artifact of this run with its author, oldest first. */
  artifacts(key: string): Promise<(ArtifactRef & Pick<Artifact, 'by'>)[]>
}

/** Everything a pattern may use. Keys are relative to the pattern; each is used at most once per execution. */
export interface Context<Events extends EventDataByType = EventDataByType>
  extends RunContext,
    LookupContext,
    SessionContext,
    FactContext,
    StepContext<Events>,
    ArtifactContext {}
