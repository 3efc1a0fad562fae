import type { ErrorRecord, TroupeError } from '../errors.ts'
import type { AnswerShape, AnswerValue } from '../schema/answer-shape.ts'
import type { Schema } from '../schema/standard-schema.ts'
import type { Agent } from './agent.ts'
import type { Artifact, ArtifactRef, ArtifactVersion } from './artifact.ts'
import type { Attachment } from './attachment.ts'
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
import type { QueuePlace } from './session/session-queue.ts'
import type { SessionResult } from './session-result.ts'
import type { Spend } from './spend.ts'
import type { SteerAction, SteeringCommand } from './steer-action.ts'
import type { Row, TableQuery } from './table-query.ts'
import type { Thread } from './thread.ts'
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

/** The rights of a new session; one that is continued keeps its own. */
export interface RequestedRights {
  model?: string
  /** Base tools of a top-level agent; a sub-agent inherits its caller's. */
  tools?: readonly string[]
  /**
   * Its answer stays once it is paid for, also when `resume` retries what the request depends on and would ask it differently now; and if the session
   * itself had failed, it goes on where it was.
   */
  keep?: true
  /** Keep only tools of kind `read`: none that acts, delegates or asks a person. */
  readOnly?: true
  /** An internal call of the pattern, such as a synthesis, by a system agent without tools. */
  internal?: true
  /** The folder that its tools work in, such as `workspace` of a worktree. Default: the caller's, or else that of the run. */
  workspace?: string
}

/** The form of the answer. */
export interface AnswerFormat {
  /** Schema of the structured output. A response that does not match goes back to the model once. */
  output?: Schema
  /** With `output`: accept a response that does not match, as text without an object. */
  allowText?: true
}

export interface PerformRequest extends RequestedRights, AnswerFormat {
  instruction: string
  /** Files that the instruction carries. */
  attachments?: readonly Attachment[]
  /** Id of a session to continue. It keeps its agent, model, tools and depth. An agent can continue sessions of its run's tree only. */
  resume?: string
  /** The pattern has checked itself that the calling agent may continue `resume`, a session of any run of the project. */
  resumeScope?: 'project'
  /** Shared conversation prefix. A session with a thread cannot be resumed by id. */
  thread?: Thread
  cache_key?: string
  background?: boolean
  /** For a background session: the tool that gets the result when the caller ends without collecting it, and its input. */
  collect_with?: { tool: string; input: unknown }
  /** The session opens at once and waits here before its first turn. */
  queue?: QueuePlace
  /** `timeout_ms` of the agent is a deadline: time in which no process executed the run counts, too. Waiting for a person does not. */
  countDowntime?: true
}

/** A request for an answer of this shape; without `answer`, for a text. */
export interface AnswerRequest<S extends AnswerShape = AnswerShape>
  extends Omit<PerformRequest, 'instruction' | 'output' | 'background' | 'collect_with'> {
  key: string
  agent: Agent | undefined
  /** The form of the answer follows it, unless it has the example itself or `resume` continues a session. */
  prompt: string
  answer?: S | undefined
  /** The model or model role to ask; if there is none, the agent asks its own. */
  preferredModel?: string
  /** Look for the answer to an earlier request with this `cache_key` first, in a step under this key. */
  cachedAs?: string | undefined
  /** Returns what to tell the agent if its answer cannot be used: one that has answered is asked once more. */
  check?(answer: Answer<S>): string | undefined | Promise<string | undefined>
  /** Keys of the further requests. Default: `${key}/text` and `${key}/correction`. */
  keys?: { text?: string; correction?: string }
}

/** An answer as it could be read, and the session that gave it. A failure is in `error`. */
export interface Answer<S extends AnswerShape = AnswerShape> extends SessionResult {
  /** Missing in an answer that has none of the fields, such as prose. */
  value?: AnswerValue<S['fields']> | undefined
  /** The object as the model wrote it, also one that was found in its text. */
  fields?: Readonly<Record<string, unknown>> | undefined
  /** Values that were not used, described for people. */
  notes: readonly string[]
  /** The answer ends within its object. */
  isCutOff: boolean
  /** Input and output tokens of all requests. */
  tokens: number
  cached?: true
  /** The answer that was corrected. */
  first?: Answer<S>
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
  /** The names that match no tool here; server tools are not checked. Use it inside a step only. */
  unknownTools(names: readonly string[]): { name: string; known: string[] }[]
  /**
   * Why this model cannot be used here; `undefined` when it can. A model may choose only those that the operator configured. Use it inside a
   * step only.
   */
  modelProblem(name: string, chosenBy?: 'operator' | 'model'): Promise<string | undefined>
  /** True when a tool of this name delegates to other agents. */
  delegates(tool: string): boolean
}

/** Facts about the project that the run works on. */
export interface ProjectContext {
  /** The profile of the project, from its files, if there are any. Throws `invalid_input` for a wrong profile file. Use it inside a step only. */
  projectProfile(): Promise<PatternPart<'project profile'> | undefined>
  /** Removes secrets from texts; it knows values of the environment, so use it inside a step only. */
  readonly redactor: Redactor | undefined
  /** Git worktrees beside the workspace; use it inside a step of kind `idempotent` only. `undefined` without a workspace. */
  readonly repository: PatternPart<'repository'> | undefined
  /** Runs commands in the sandbox; use it inside a step only. `undefined` where agents cannot run commands either. */
  readonly commands: PatternPart<'commands'> | undefined
}

/** Looks things up, inside a step only: what is found may differ the next time. */
export interface KnowledgeContext {
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
    ProjectContext,
    KnowledgeContext,
    SessionContext,
    FactContext,
    StepContext<Events>,
    ArtifactContext {}
