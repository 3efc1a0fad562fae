import type { ReopenOptions } from '../engine/engine.ts'
import { isOwnerDead } from '../engine/lease-owner.ts'
import type { ReplayReport } from '../engine/replay-run.ts'
import type { WatchOptions } from '../engine/run-stream.ts'
import { closedError, TroupeError, toTroupeError } from '../errors.ts'
import type { NeedsReport } from '../judgement/needs/run-needs.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Event, ForkChanges } from '../kernel/event.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { SteerAction } from '../kernel/steer-action.ts'
import type { Schema } from '../schema/standard-schema.ts'
import type { RunRow } from '../store/store.ts'
import type { McpServerStatus } from '../tools/mcp/mcp-servers.ts'
import type { Detail } from '../views/detail/detail.ts'
import type { RequestRecord } from '../views/detail/recorded-requests.ts'
import type { PoolEntry } from '../views/page-export/value-pool.ts'
import type { PanelBlock } from '../views/panel.ts'
import type { RunSummary } from '../views/run-summary.ts'
import type { AgentSession, MultiAgentSession } from '../views/session-file/agent-session.ts'
import type { TimelineSources } from '../views/timeline/reduce-timeline.ts'
import type { TimelineRef } from '../views/timeline/timeline.ts'
import type { WaitingRequest } from '../views/waiting.ts'
import { checkCallOptions } from './check-option-names.ts'
import type { DeletionReport, DeletionScope, PruneOptions, Retention } from './delete-runs.ts'
import { issueWarning } from './issue-warning.ts'
import { nodeVersionProblem } from './node-version.ts'
import { pagedQuery } from './paged-query.ts'
import type { Queries } from './queries.ts'
import type { Report, ReportQuery } from './report-query.ts'
import type { AnswerOptions, RunHandle, RunOptions, RunResult, SettledRun, SteerOptions } from './run-handle.ts'
import type { RunMoment, RunPanels } from './run-pages.ts'
import type { RunReader } from './run-reader.ts'
import type { RunTimeline } from './run-timeline.ts'
import type { RuntimeParts } from './runtime-parts.ts'
import type { TroupeKnowledge } from './troupe-knowledge.ts'
import type { TroupeOptions } from './troupe-options.ts'
import type { PatternName, RunInput, RunOutput, TypesOf } from './typed-run.ts'
import type { WorkOptions } from './work.ts'

/** `Patterns` are the patterns passed to `createTroupe`: they give `run` and `stream` their types. */
export interface Troupe<Patterns extends readonly Pattern[] = readonly Pattern[]> extends Queries, AsyncDisposable {
  readonly agents: readonly Agent[]
  /** The project whose runs, questions and artifacts this troupe sees. */
  readonly project: string
  /** Aborted when the troupe is closed. */
  readonly closing: AbortSignal
  /** The same troupe for another project: store, agents and engine are shared, and closing one closes both. */
  inProject(project: string): Promise<Troupe<Patterns>>
  /** Documents and resolved consultations of the project, found by what they say. */
  readonly knowledge: TroupeKnowledge
  /** The patterns that runs can be started with, built-in and custom. With names only these, which imports no others. */
  patterns(names?: readonly string[]): Promise<readonly Pattern[]>
  /**
   * Runs a pattern until it ends or waits for a person. Rejects with the error of a run that failed (`RunError`, with `run_id` and `result`),
   * with `closed` when the troupe is closed before the end, and with `lease_lost` when another process took the run over.
   */
  run<const Name extends PatternName<Patterns>, Output extends Schema = Schema>(
    pattern: Name,
    input: RunInput<TypesOf<Patterns, Name>, Output>,
    options?: RunOptions,
  ): Promise<SettledRun<RunOutput<TypesOf<Patterns, Name>, Output>>>
  /** Starts a run without waiting for it. */
  start<const Name extends PatternName<Patterns>, Output extends Schema = Schema>(
    pattern: Name,
    input: RunInput<TypesOf<Patterns, Name>, Output>,
    options?: RunOptions,
  ): Promise<{ run_id: string }>
  /** Starts a run and returns its handle: iterate it for events and text deltas, await `result` for the end. */
  stream<const Name extends PatternName<Patterns>, Output extends Schema = Schema>(
    pattern: Name,
    input: RunInput<TypesOf<Patterns, Name>, Output>,
    options?: RunOptions,
  ): Promise<RunHandle<RunOutput<TypesOf<Patterns, Name>, Output>>>
  /**
   * Resumes a run that was interrupted, waits, or failed. The step whose error ended the run is tried again. The result rejects
   * with `needs_missing` if this process lacks what the run needs.
   */
  resume(run_id: string, options?: Partial<ReopenOptions>): Promise<RunHandle>
  /**
   * Takes the oldest run of the project that nobody executes and executes it here; `undefined` if there is none. A worker calls
   * it again and again.
   */
  claim(): Promise<RunHandle | undefined>
  /**
   * Executes runs of the project that were submitted, answered or interrupted, by any process, as they come. Resolves when `signal` is
   * aborted or the troupe is closed, and keeps the process alive until then.
   */
  work(options?: WorkOptions): Promise<void>
  /** Cancels a run; `by` is the name recorded with it. */
  cancel(run_id: string, reason?: string, options?: Pick<AnswerOptions, 'by'>): Promise<RunResult>
  /** Executes a stored run again, offline, and compares the journals. No model request, no tool call. */
  replay(run_id: string): Promise<ReplayReport>
  /** Starts a new run that inherits the events of this run up to `seq` and continues from there with the changes. */
  fork(run_id: string, seq: number, changes?: ForkChanges): Promise<RunHandle>
  /**
   * Answers a question and resumes the run, unless another process executes it or this one lacks what the run needs (see
   * `not_continued` of the result). The first answer wins.
   */
  answer(gate_id: string, answer: unknown, options?: AnswerOptions): Promise<RunHandle>
  /**
   * Steers a run: pause, step, continue, override the next agent, set a variable, send a message. The run applies the
   * action between two turns. Only patterns with `checkSteer` can be steered.
   */
  steer(run_id: string, action: SteerAction, options?: SteerOptions): Promise<RunHandle>
  result(run_id: string): Promise<RunResult>
  /**
   * The parts that this process lacks to continue a run: tools, hooks, MCP servers, patterns, agents, performers and models that the program
   * which started it provides. With `missing` parts, `resume` and `fork` reject with `needs_missing`.
   */
  checkNeeds(run_id: string): Promise<NeedsReport>
  /** True if a live process holds the lease of the run; a process on another machine counts as alive. */
  isRunning(run: RunRow): boolean
  /**
   * The model requests that a running run waits for, by whichever process it is executed: how far they got, when they are given up, and
   * when one that failed is sent again. Of a process on another machine, only model and beginning are known.
   */
  waiting(run_id: string): Promise<WaitingRequest[]>
  /**
   * Yields the committed events of a run, whichever process executes it, from the first one or after a `seq`. Ends when the
   * run has ended, when `signal` is aborted, or when the troupe is closed; waits while the run waits for a person.
   */
  watch(run_id: string, options?: WatchOptions): AsyncIterable<Event>
  /**
   * Calls the listener after something was committed or commanded, by any process: for lists and inboxes. Does not keep
   * the process alive. To follow one run, use `watch`. Returns the function that unsubscribes.
   */
  onChange(listener: () => void | Promise<void>): () => void
  /** The figures that patterns compute from their tables. `query` reads the tables themselves. */
  reports(query?: ReportQuery): Promise<Report[]>
  /**
   * A run of any pattern as a session file (`AgentSession`, or `MultiAgentSession` if agents worked together), at any time. It is made from
   * the journal, and texts go through `redact` once more.
   */
  exportSession(run_id: string): Promise<AgentSession | MultiAgentSession>
  /** Everything about one place of a run, such as a turn with its exact prompt; at an earlier event with `seq`. Texts go through `redact`. */
  detail(run_id: string, ref: TimelineRef, options?: RunMoment): Promise<Detail>
  /**
   * The model requests of a run, one for each attempt, with their responses: system prompt, messages, tools and settings are rebuilt from the
   * journal, and `proof` tells whether its hash proves them as sent. Texts go through `redact`.
   */
  requests(run_id: string): Promise<RequestRecord[]>
  /** The pages about a run as data: those of its patterns, and its cost; at an earlier event with `seq`. Texts go through `redact`. */
  panels(run_id: string, options?: RunMoment): Promise<RunPanels>
  /**
   * The timeline of a run as rows of tables, for swimlanes: at an earlier event with `seq`, only the rows that changed after an event with `since`. Texts
   * go through `redact`.
   */
  timeline(run_id: string, options?: RunMoment & { since?: number }): Promise<RunTimeline>
  /** The views of patterns, prices and redaction of this troupe, from which its server keeps timelines up to date. */
  timelineSources(): Promise<TimelineSources>
  /**
   * Everything that the page of a run shows, for a file that needs no server: a value of `RunExport` in the form of `valueFromPool`. Texts go
   * through `redact`; those of more than 32 KB are cut.
   */
  exportPage(run_id: string): Promise<PoolEntry[]>
  /** The facts for lists that only the journals of runs tell: agents, a thumbnail of the lanes, the last event, progress, stalls. */
  runSummaries(run_ids: readonly string[]): Promise<RunSummary[]>
  /** Everything that a person needs to answer a question: the whole call, who asks and why, and what happened before. */
  gateBlocks(gate_id: string): Promise<PanelBlock[]>
  /** The configured MCP servers and their status. Starts none. */
  mcpServers(): McpServerStatus[]
  /** Deletes runs with everything that only they use. `run_busy` while one executes; `session_busy` if another run needs it. */
  deleteRuns(run_ids: readonly string[]): Promise<DeletionReport>
  /** Deletes runs of the project that ended long ago, and shrinks the store. */
  prune(options: PruneOptions): Promise<DeletionReport>
  /** Drains the engine and closes the store. */
  close(): Promise<void>
  /** Waits for calls in flight and stops every run so that it can be resumed. The store stays open for reading. */
  drain(): Promise<void>
}

export async function createTroupe<const Patterns extends readonly Pattern[] = readonly []>(
  options: TroupeOptions<Patterns> = {},
): Promise<Troupe<Patterns>> {
  const problem = nodeVersionProblem(process.versions.node)
  if (problem !== undefined)
    throw new TroupeError('invalid_input', problem, {
      hint: 'update Node; package.json lists the versions',
      responsible: 'operator',
    })
  // Lazy imports keep importing the package fast.
  const { compose } = await import('./compose.ts')
  const { applyConfig } = await import('./config/apply-config.ts')
  const configured = await applyConfig(options)
  const { retention } = configured.options
  if (retention) (await import('./delete-runs.ts')).checkMaxAge(retention.max_age_days)
  return assembleTroupe(await compose(configured.options, configured.folder), retention)
}

/** The operations of a troupe with these parts. `base` is the reader of the troupe that this one is another project of. */
export async function assembleTroupe<const Patterns extends readonly Pattern[] = readonly []>(
  parts: RuntimeParts,
  retention?: Retention,
  base?: RunReader,
): Promise<Troupe<Patterns>> {
  const reads = await import('./run-reader.ts')
  const { createQueries } = await import('./queries.ts')
  const { lazy } = await import('./lazy.ts')
  const { createTroupeKnowledge } = await import('./troupe-knowledge.ts')
  const { project, agents, store, mcp } = parts
  const reader = reads.createRunReader(parts, base)
  const tables = lazy(async () => store.keepTables((await parts.registry.get()).projections))
  const runs = lazy(async () => {
    const [operations, execution] = await Promise.all([import('./run-controller.ts'), parts.execution.get()])
    return { ...operations, controller: { ...reader, parts: { ...parts, ...execution } } }
  })
  /** Before anything is executed, and before each operation: another process may trust the store meanwhile. */
  const operations = async () => {
    if (store.ownershipProblem) throw store.ownershipProblem
    return runs.get()
  }
  const begin = async (pattern: string, input: unknown, runOptions?: RunOptions) => {
    checkCallOptions('run', runOptions)
    // Before anything is loaded: a signal that is aborted later cancels the run.
    runOptions?.signal?.throwIfAborted()
    const { startRun, controller } = await operations()
    return startRun(controller, { pattern, input, options: runOptions })
  }
  const stream = (pattern: string, input: unknown, runOptions?: RunOptions) =>
    reads.trackStart(reader, begin(pattern, input, runOptions))
  const run = async (pattern: string, input: unknown, runOptions?: RunOptions) => {
    const handle = await stream(pattern, input, runOptions)
    const { settleRun } = await import('./run-outcome.ts')
    const outcome = await settleRun(handle, { store, caller: run, closing: closing.signal })
    if (outcome instanceof TroupeError) throw outcome
    return outcome
  }
  const start = async (pattern: string, input: unknown, runOptions?: RunOptions) => {
    const { run_id } = await stream(pattern, input, runOptions)
    return { run_id }
  }
  const deletion = { store, project, now: () => parts.world.now() }
  const { closing } = reader
  const close = async () => {
    const isFirst = !closing.signal.aborted
    closing.abort()
    if (retention && isFirst && !store.ownershipProblem) await retain(deletion, retention)
    await reads.closeTroupe(reader)
  }
  const work = async (workOptions: WorkOptions = {}) => {
    const { signal = closing.signal } = workOptions
    const [{ workUntil }, { controller }] = await Promise.all([import('./work.ts'), operations()])
    return workUntil(controller, AbortSignal.any([signal, closing.signal]), workOptions)
  }
  const completePatterns = async (names?: readonly string[]) => (await parts.registry.get()).complete(names)
  const readWaiting = async (run_id: string) => (await reader.waiting.get()).read(run_id)
  const queries = createQueries(store, project, tables.get)
  const now = () => parts.world.now()
  const knowledge = createTroupeKnowledge({ ...parts, redactor: parts.checkedPorts.redactor, now })
  const members: Omit<Troupe<Patterns>, 'close' | typeof Symbol.asyncDispose> = {
    ...queries,
    agents,
    project,
    closing: closing.signal,
    inProject: (name) => assembleTroupe<Patterns>({ ...parts, project: name }, retention, reader),
    knowledge: untilClosed(knowledge, closing.signal),
    patterns: completePatterns,
    // The schemas of the pattern are checked at runtime; the types follow from them.
    stream: stream as Troupe<Patterns>['stream'],
    run: run as Troupe<Patterns>['run'],
    start: start as Troupe<Patterns>['start'],
    resume: (run_id, reopen) => operations().then(({ resumeRun, controller }) => resumeRun(controller, run_id, reopen)),
    claim: () => operations().then(({ claimRun, controller }) => claimRun(controller)),
    work: (workOptions) => reads.trackStart(reader, work(workOptions)),
    cancel: (run_id, reason, how) =>
      operations().then(({ cancelRun, controller }) => cancelRun(controller, run_id, { reason, ...how })),
    replay: (run_id) => operations().then(({ replayStoredRun, controller }) => replayStoredRun(controller, run_id)),
    fork: (run_id, seq, changes) =>
      operations().then(({ startFork, controller }) => startFork(controller, run_id, { seq, changes })),
    answer: (gate_id, answer, how) =>
      operations().then(({ answerGate, controller }) => answerGate(controller, { gate_id, answer }, how)),
    steer: (run_id, action, how) =>
      operations().then(({ sendSteering, controller }) => sendSteering(controller, { run_id, action }, how)),
    result: (run_id) => reads.readResult(reader, run_id),
    checkNeeds: (run_id) => reads.readNeeds(reader, run_id),
    isRunning,
    waiting: readWaiting,
    watch: (run_id, watchOptions) => reads.watchRun(reader, run_id, watchOptions),
    onChange: (listener) => reads.onStoreChange(reader, listener),
    deleteRuns: async (run_ids) => (await import('./delete-runs.ts')).deleteRuns(deletion, run_ids),
    prune: async (how) => (await import('./delete-runs.ts')).prune(deletion, how),
    reports: async (query = {}) => {
      const { readReports } = await import('./report-query.ts')
      return readReports(await completePatterns(), query, queries.query)
    },
    exportSession: async (run_id) => {
      const { exportSession } = await import('./export-session.ts')
      const [patterns, events] = await Promise.all([completePatterns(), queries.events(run_id).all()])
      return exportSession(events, patterns, parts.checkedPorts.redactor)
    },
    detail: async (run_id, ref, moment) => {
      const { readDetail } = await import('./run-pages.ts')
      return readDetail({ parts, queries }, { run_id, ref }, moment)
    },
    requests: async (run_id) => (await import('./run-pages.ts')).readRequests({ parts, queries }, run_id),
    panels: async (run_id, moment) => {
      const { readPanels } = await import('./run-pages.ts')
      return readPanels({ parts, queries }, run_id, moment)
    },
    timeline: async (run_id, moment) => (await import('./run-timeline.ts')).readTimeline(parts, run_id, moment),
    timelineSources: async () => (await import('./run-timeline.ts')).timelineSources(parts),
    exportPage: async (run_id) => (await import('./export-page.ts')).exportPage({ parts, queries }, run_id),
    runSummaries: async (run_ids) =>
      (await import('./run-timeline.ts')).readSummaries(parts, run_ids, { isRunning, readWaiting }),
    gateBlocks: async (gate_id) => (await import('./run-pages.ts')).readGateBlocks({ parts, queries }, gate_id),
    mcpServers: () => mcp?.status() ?? [],
    drain: async () => (await parts.execution.get()).engine.drain(),
  }
  return { ...untilClosed(members, closing.signal), close, [Symbol.asyncDispose]: close }
}

function isRunning({ owner }: RunRow): boolean {
  return owner !== null && !isOwnerDead(owner)
}

/** A store that cannot be pruned must still be closed. */
async function retain(scope: DeletionScope, retention: Retention): Promise<void> {
  try {
    await (await import('./delete-runs.ts')).applyRetention(scope, retention)
  } catch (thrown) {
    issueWarning(`troupe: retention: ${toTroupeError(thrown).message}`)
  }
}

/** Methods that return a list or a value; all others return a promise. */
const RETURNS: Readonly<Record<string, 'list' | 'value'>> = {
  ...{ runs: 'list', sessions: 'list', events: 'list', gates: 'list', artifacts: 'list', accounts: 'list' },
  ...{ query: 'list', watch: 'list' },
  ...{ storeStatus: 'value', onChange: 'value', isRunning: 'value', mcpServers: 'value' },
}

/** The same object, whose methods reject with `closed` once `closing` is aborted. */
function untilClosed<T extends object>(members: T, closing: AbortSignal): T {
  const guarded = Object.entries(members).map(([name, member]) => {
    if (typeof member !== 'function') return [name, member]
    const call = (...args: unknown[]) => {
      if (!closing.aborted) return member(...args)
      const error = closedError(name)
      if (RETURNS[name] === 'value') throw error
      const rejected = () => Promise.reject(error)
      return RETURNS[name] === 'list'
        ? pagedQuery({}, { list: name, scope: null, read: rejected, positionOf: () => 0 })
        : rejected()
    }
    return [name, call]
  })
  return Object.fromEntries(guarded) as T
}
