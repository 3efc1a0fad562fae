import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { EmbeddedEngine } from './engine/embedded.ts'
import type { Signal } from './engine/engine.ts'
import { follow } from './engine/follow.ts'
import { isDead } from './engine/owner.ts'
import { realWorld } from './engine/real-world.ts'
import { sessionPorts } from './engine/sessions.ts'
import type { ErrorRecord } from './errors.ts'
import { TroupeError, unknownName } from './errors.ts'
import type { Policy } from './judgement/permission.ts'
import { judge } from './judgement/permission.ts'
import type { Agent } from './kernel/agent.ts'
import type { Event, Status, StopReason } from './kernel/event.ts'
import { isEvent } from './kernel/event.ts'
import type { Hooks } from './kernel/hook.ts'
import type { Limits } from './kernel/limits.ts'
import { DEFAULT_LIMITS, limitsSchema } from './kernel/limits.ts'
import type { Model, Models } from './kernel/model.ts'
import type { Pacing } from './kernel/pacing.ts'
import { NO_PACING } from './kernel/pacing.ts'
import type { Pattern, PatternTool } from './kernel/pattern.ts'
import { patternTool } from './kernel/pattern.ts'
import type { Permissions } from './kernel/permission.ts'
import type { PriceBook } from './kernel/price.ts'
import { NO_PRICES } from './kernel/price.ts'
import { createRoster } from './kernel/roster.ts'
import { problemsOf } from './kernel/schema.ts'
import type { Tool } from './kernel/tool.ts'
import type { World } from './kernel/world.ts'
import { createModels } from './models/models.ts'
import { askUser } from './patterns/ask-user/ask-user.ts'
import { task, taskResult } from './patterns/task/task.ts'
import type { GateRow, RunRow, SessionRow, Store } from './store/store.ts'

export interface TroupeOptions {
  /** A path, `memory`, or a store of your own. Default: `.troupe` of the current folder. */
  store?: string | Store
  /** Whose data it is. Default `default`. */
  project?: string
  /** What agents use that name no model: `scripted:FILE`, or a model of your own. */
  model?: string | Model
  /** Added to the agents that come with Troupe; the same name replaces. */
  agents?: readonly Agent[]
  tools?: readonly Tool[]
  /** Ways of working together of your own, beside `task`. */
  patterns?: readonly Pattern[]
  hooks?: readonly Hooks[]
  limits?: Partial<Limits>
  /** Rules for tool calls, such as `{ ask: ['Bash'], deny: ['Write(.env*)'] }`; agents' files can only add to them. */
  permissions?: Policy
  engine?: { concurrency?: number; strict?: boolean; world?: World; pacing?: Pacing }
  /** Where models are found and what they cost, instead of what comes with Troupe. */
  models?: { find?: Models; prices?: PriceBook; summary?: string }
}

export interface RunOptions {
  model?: string
  limits?: Partial<Limits>
}

export interface AnswerOptions {
  by?: string
  /** `false` only writes the answer down: the run goes on where it is under way, or when it is resumed. */
  go_on?: boolean
}

export interface RunResult {
  run_id: string
  status: Status
  stop_reason: StopReason | null
  output: unknown
  error: ErrorRecord | null
  usage: { calls: number; input: number; output: number; cache_read: number; cache_write: number; usd: number | null }
  duration_ms: number
  /** Questions that the run waits for. */
  gates: GateRow[]
}

/** A run that was written down and is under way: leaving it alone does not cancel it. */
export interface RunHandle extends AsyncIterable<Signal> {
  readonly run_id: string
  readonly result: Promise<RunResult>
}

export interface Troupe extends AsyncDisposable {
  readonly store: Store
  readonly agents: readonly Agent[]
  readonly patterns: readonly Pattern[]
  /** Runs a pattern and waits until it ends, waits for a human, or is interrupted. */
  run(pattern: string, input: unknown, options?: RunOptions): Promise<RunResult>
  /** The same, watched: iterate for events and words, await `result` for the end. */
  stream(pattern: string, input: unknown, options?: RunOptions): Promise<RunHandle>
  /** Goes on with a run that was interrupted, waits, or failed; the step whose error ended it is tried again. */
  resume(run_id: string, options?: { limits?: Partial<Limits>; force?: boolean }): Promise<RunHandle>
  cancel(run_id: string, reason?: string): Promise<RunResult>
  inbox(): Promise<GateRow[]>
  /** Answers a question; the run goes on here unless another process works on it. The first answer wins. */
  answer(gate_id: string, answer: unknown, how?: AnswerOptions): Promise<RunHandle>
  result(run_id: string): Promise<RunResult>
  runs(filter?: { status?: readonly Status[]; limit?: number }): Promise<RunRow[]>
  /** Whether a process works on the run now, as far as can be told from here. */
  isUnderWay(run: RunRow): boolean
  sessions(run_id: string): Promise<SessionRow[]>
  events(run_id: string): Promise<Event[]>
  /** Lets what is in flight finish, leaves every run resumable, and closes the store. */
  close(): Promise<void>
  /** The first half of `close`: the store stays open, so that what happened can still be read. */
  drain(): Promise<void>
}

/** Puts the parts together: a store, an engine, models, agents, tools, and the patterns. */
export async function createTroupe(options: TroupeOptions = {}): Promise<Troupe> {
  const world = options.engine?.world ?? realWorld()
  const project = options.project ?? 'default'
  const defaults = limitsOf(DEFAULT_LIMITS, options.limits)
  const agents = await rosterAgents(options.agents ?? [])
  const store = await openStore(options.store ?? '.troupe')
  const patterns = [...PATTERNS, ...(options.patterns ?? [])]
  const engine = new EmbeddedEngine({
    store,
    world,
    concurrency: options.engine?.concurrency ?? 16,
    onListenerError: (error) => process.emitWarning(`a listener failed: ${error.message}`),
    ports: {
      world,
      models:
        options.models?.find ??
        createModels({ world, ...(options.model === undefined ? undefined : { fallback: options.model }) }),
      ...(options.models?.summary === undefined ? undefined : { summaryModel: options.models.summary }),
      prices: options.models?.prices ?? NO_PRICES,
      pacing: options.engine?.pacing ?? NO_PACING,
      roster: createRoster(agents),
      tools: new Map((options.tools ?? []).map((tool) => [tool.name, tool])),
      patterns: new Map(patterns.map((pattern) => [pattern.name, pattern])),
      patternTools: toolsOf(options.patterns ?? []),
      hooks: options.hooks ?? [],
      permissions: permissionsOf(options.permissions),
      strict: options.engine?.strict ?? false,
      ...sessionPorts(store),
    },
  })

  const result = (run_id: string) => resultOf(store, world, run_id)
  /** Results that are being read: the store must not close under them. */
  const telling = new Set<Promise<void>>()

  function handle(run_id: string, work: Promise<void>): RunHandle {
    const settled = work.then(() => result(run_id))
    const told = settled.then(
      () => undefined,
      () => undefined,
    )
    telling.add(told)
    void told.then(() => telling.delete(told))
    return { run_id, result: settled, [Symbol.asyncIterator]: () => follow({ engine, store }, run_id, settled) }
  }

  async function stream(name: string, input: unknown, run: RunOptions = {}): Promise<RunHandle> {
    const pattern = patterns.find((candidate) => candidate.name === name)
    if (!pattern)
      throw unknownName(
        'unknown_pattern',
        'pattern',
        name,
        patterns.map((known) => known.name),
      )
    const parsed = pattern.input.safeParse(input)
    if (!parsed.success) {
      throw new TroupeError('invalid_input', `the input of ${name} does not fit: ${problemsOf(parsed.error)}`)
    }
    const run_id = `r_${world.randomHex(6)}`
    const data = {
      format: 1 as const,
      project,
      pattern: name,
      version: pattern.version,
      input: parsed.data as unknown,
      limits: limitsOf(defaults, run.limits),
      ...(run.model === undefined ? undefined : { model: run.model }),
    }
    await store.createRun({ run_id, seq: 1, at: world.now(), type: 'run:start', data })
    return handle(run_id, engine.execute(run_id))
  }

  async function resume(run_id: string, how: { limits?: Partial<Limits>; force?: boolean } = {}): Promise<RunHandle> {
    const row = await mustFind(store, project, run_id)
    if (row.status === 'completed' || row.status === 'cancelled') return handle(run_id, Promise.resolve())
    const limits = how.limits ?? {}
    const reopen = row.status === 'failed' || Object.keys(limits).length > 0
    limitsOf(DEFAULT_LIMITS, limits)
    return handle(run_id, engine.execute(run_id, reopen ? { limits, force: how.force ?? false } : undefined))
  }

  const troupe: Troupe = {
    store,
    agents,
    patterns,
    stream,
    resume,
    result: async (run_id) => result((await mustFind(store, project, run_id)).run_id),
    run: async (name, input, run) => (await stream(name, input, run)).result,
    async cancel(run_id, reason = '') {
      await mustFind(store, project, run_id)
      await store.command(run_id, { kind: 'cancel', reason, by: 'user' }, world.now())
      engine.nudge(run_id)
      await engine.execute(run_id).catch((error: unknown) => ignoreBusy(error))
      return result(run_id)
    },
    inbox: () => store.openGates({ project }),
    async answer(gate_id, answer, { by = 'user', go_on = true } = {}) {
      const gate = await store.gate(gate_id)
      if (!gate || gate.project !== project) throw await unknownGate(store, project, gate_id)
      checkChoice(gate, answer)
      await store.command(gate.run_id, { kind: 'answer', gate_id, answer, by }, world.now())
      engine.nudge(gate.run_id)
      if (!go_on) return handle(gate.run_id, Promise.resolve())
      return handle(
        gate.run_id,
        engine.execute(gate.run_id).catch((error: unknown) => ignoreBusy(error)),
      )
    },
    runs: (filter) => store.runs({ project, ...filter }),
    isUnderWay: ({ owner, lease_until }) => owner !== null && (lease_until ?? 0) > world.now() && !isDead(owner),
    sessions: (run_id) => store.sessions({ project, run_id }),
    events: async (run_id) => store.events((await mustFind(store, project, run_id)).run_id),
    drain: () => engine.drain(),
    async close() {
      await engine.drain()
      await Promise.all(telling)
      await store.close()
    },
    [Symbol.asyncDispose]: () => troupe.close(),
  }
  return troupe
}

/** The ways of working together that come with Troupe. */
export const PATTERNS: readonly Pattern[] = [task]

/** Patterns as tools, with the names that other hosts know them by. */
const TOOL_NAMES: readonly (readonly [Pattern, readonly string[]])[] = [
  [task, ['task', 'Task', 'Agent']],
  [taskResult, ['task_result', 'TaskOutput']],
  [askUser, ['ask_user', 'AskUserQuestion']],
]

function toolsOf(own: readonly Pattern[]): Map<string, PatternTool> {
  const named = [...TOOL_NAMES, ...own.map((pattern) => [pattern, [pattern.name]] as const)]
  return new Map(named.flatMap(([pattern, names]) => names.map((name) => [name, patternTool(pattern)])))
}

/** The run's rules and the agent's own; what people granted in this run answers what would be asked. */
function permissionsOf(policy: Policy = {}): Permissions {
  return {
    decide({ agent, granted, read_only, ...call }) {
      const policies = [policy, agent.permissions ?? {}, ...(read_only ? [{ mode: 'read' as const }] : [])]
      const { subject, ...rest } = call
      const judged = judge(policies, { ...rest, ...(subject === undefined ? undefined : { subject }) })
      if (judged.answer !== 'ask' || granted.length === 0) return judged
      const again = judge([{ allow: granted }], { ...rest, ...(subject === undefined ? undefined : { subject }) })
      return again.answer === 'allow' && again.allowed.length > 0 ? again : judged
    },
  }
}

function limitsOf(base: Limits, changes: Partial<Limits> = {}): Limits {
  const parsed = limitsSchema.safeParse({ ...base, ...changes })
  if (parsed.success) return parsed.data
  throw new TroupeError('invalid_input', `the limits do not fit: ${problemsOf(parsed.error)}`, {
    alternatives: Object.keys(DEFAULT_LIMITS),
    hint: `limits are: ${Object.keys(DEFAULT_LIMITS).join(', ')}`,
  })
}

async function openStore(store: string | Store): Promise<Store> {
  if (typeof store !== 'string') return store
  if (store === 'memory') return new (await import('./store/memory.ts')).MemoryStore()
  return (await import('./store/sqlite.ts')).openSqlite(databaseIn(store))
}

/** A store is named by its folder, or by the database file itself. */
function databaseIn(path: string): string {
  return /\.(db|sqlite3?)$/i.test(path) ? path : join(path, 'troupe.db')
}

async function rosterAgents(own: readonly Agent[]): Promise<Agent[]> {
  const { loadAgents } = await import('./formats/find-agents.ts')
  const shipped = await loadAgents(fileURLToPath(new URL('../agents/', import.meta.url)))
  const names = new Set(own.map((agent) => agent.name))
  return [...own, ...shipped.agents.filter((agent) => !names.has(agent.name))]
}

async function resultOf(store: Store, world: World, run_id: string): Promise<RunResult> {
  const row = await store.run(run_id)
  if (!row) throw unknownName('unknown_run', 'run', run_id, [])
  const ended = row.ended_at !== null
  const [last] = ended ? (await store.events(run_id, { after: row.head - 1 })).slice(-1) : []
  const end = isEvent(last, 'run:end') ? last.data : undefined
  const { calls, input, output, cache_read, cache_write, usd } = row.usage
  return {
    run_id,
    status: row.status,
    stop_reason: row.stop_reason,
    output: end?.output ?? null,
    error: end?.error ?? null,
    usage: { calls, input, output, cache_read, cache_write, usd },
    duration_ms: (row.ended_at ?? world.now()) - row.created_at,
    gates: await store.openGates({ run_id }),
  }
}

async function mustFind(store: Store, project: string, run_id: string): Promise<RunRow> {
  const row = await store.run(run_id)
  if (row && row.project === project) return row
  const known = await store.runs({ project, limit: 100 })
  throw unknownName(
    'unknown_run',
    'run',
    run_id,
    known.map((run) => run.run_id),
  )
}

async function unknownGate(store: Store, project: string, gate_id: string): Promise<TroupeError> {
  const open = await store.openGates({ project })
  return unknownName(
    'unknown_gate',
    'question',
    gate_id,
    open.map((gate) => gate.gate_id),
  )
}

function checkChoice(gate: GateRow, answer: unknown): void {
  if (!gate.choices || gate.choices.some((choice) => choice === answer)) return
  throw new TroupeError('invalid_input', `'${String(answer)}' is no answer to "${gate.question}"`, {
    alternatives: gate.choices,
    hint: `answer one of: ${gate.choices.join(', ')}`,
  })
}

/** Another process works on the run: it will see the command. */
function ignoreBusy(error: unknown): void {
  if (!(error instanceof TroupeError) || error.code !== 'run_busy') throw error
}
