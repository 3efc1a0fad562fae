import type { TroupeOptions } from './compose.ts'
import type { Signal } from './engine/engine.ts'
import { follow } from './engine/follow.ts'
import { isDead } from './engine/owner.ts'
import type { ReplayReport } from './engine/replay.ts'
import type { ErrorRecord } from './errors.ts'
import { TroupeError, unknownName } from './errors.ts'
import type { Agent } from './kernel/agent.ts'
import type { Event, ForkChanges, Status, StopReason } from './kernel/event.ts'
import { isEvent } from './kernel/event.ts'
import type { Limits } from './kernel/limits.ts'
import { DEFAULT_LIMITS } from './kernel/limits.ts'
import type { Pattern } from './kernel/pattern.ts'
import type { SteerAction } from './kernel/steer.ts'
import type { World } from './kernel/world.ts'
import type { GateRow, RunRow, SessionRow, Store } from './store/store.ts'
import type { McpServerStatus } from './tools/mcp/mcp.ts'

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
  /** Executes a stored run again, offline, and compares: nothing is asked and nothing is done. */
  replay(run_id: string): Promise<ReplayReport>
  /** A new run that goes on from an event of this one, with the changes. */
  fork(run_id: string, at: number, changes?: ForkChanges): Promise<RunHandle>
  inbox(): Promise<GateRow[]>
  /** Answers a question; the run goes on here unless another process works on it. The first answer wins. */
  answer(gate_id: string, answer: unknown, how?: AnswerOptions): Promise<RunHandle>
  /**
   * Asks something of a run that is under way or waits: pause, step, continue, another agent, a variable, a message. It
   * is taken between two turns. Not every pattern can be steered.
   */
  steer(run_id: string, action: SteerAction, how?: AnswerOptions): Promise<RunHandle>
  result(run_id: string): Promise<RunResult>
  runs(filter?: { status?: readonly Status[]; limit?: number }): Promise<RunRow[]>
  /** Whether a process works on the run now, as far as can be told from here. */
  isUnderWay(run: RunRow): boolean
  sessions(run_id: string): Promise<SessionRow[]>
  events(run_id: string): Promise<Event[]>
  /** The MCP servers that are known, and how each is. Starts none. */
  servers(): McpServerStatus[]
  /** Lets what is in flight finish, leaves every run resumable, and closes the store. */
  close(): Promise<void>
  /** The first half of `close`: the store stays open, so that what happened can still be read. */
  drain(): Promise<void>
}

/** A troupe, ready to run. */
export async function createTroupe(options: TroupeOptions = {}): Promise<Troupe> {
  // Loaded here, so that importing the package stays quick: schemas are most of what there is to load.
  const { compose, inputOf, limitsOf } = await import('./compose.ts')
  const { world, project, limits, agents, store, patterns, engine, ports, policy, mcp, toolbox } =
    await compose(options)
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
    const checked = inputOf(pattern, input)
    pattern.check?.(ports.roster, checked as never)
    const run_id = `r_${world.randomHex(6)}`
    const data = {
      format: 1 as const,
      project,
      pattern: name,
      version: pattern.version,
      input: checked,
      limits: limitsOf(limits, run.limits),
      ...(run.model === undefined ? undefined : { model: run.model }),
      ...(ports.workspace === undefined ? undefined : { workspace: ports.workspace }),
      ...(Object.keys(policy).length === 0 ? undefined : { permissions: policy }),
    }
    await store.createRun({ run_id, seq: 1, at: world.now(), type: 'run:start', data })
    return handle(run_id, engine.execute(run_id))
  }

  async function resume(run_id: string, how: { limits?: Partial<Limits>; force?: boolean } = {}): Promise<RunHandle> {
    const row = await mustFind(store, project, run_id)
    if (row.status === 'completed' || row.status === 'cancelled') return handle(run_id, Promise.resolve())
    const changed = how.limits ?? {}
    if (Object.keys(changed).length > 0 && engine.active.includes(run_id)) {
      throw new TroupeError('run_busy', `the run ${run_id} is under way: its limits cannot change now`, {
        hint: 'wait until it stops, or cancel it',
      })
    }
    const reopen = row.status === 'failed' || Object.keys(changed).length > 0
    limitsOf(DEFAULT_LIMITS, changed)
    return handle(run_id, engine.execute(run_id, reopen ? { limits: changed, force: how.force ?? false } : undefined))
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
    async replay(run_id) {
      await mustFind(store, project, run_id)
      const { replayRun } = await import('./engine/replay.ts')
      return replayRun({ store, ports }, run_id)
    },
    async fork(run_id, at, changes = {}) {
      await mustFind(store, project, run_id)
      const { forkRun } = await import('./engine/fork.ts')
      const fork = await forkRun({ store, ...ports }, run_id, { at, changes })
      return handle(fork, engine.execute(fork))
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
    async steer(run_id, action, { by = 'user', go_on = true } = {}) {
      await mustFind(store, project, run_id)
      const { steerRun } = await import('./engine/steer.ts')
      const site = { store, patterns: ports.patterns, now: () => world.now() }
      const { goes_on } = await steerRun(site, run_id, { action, by })
      engine.nudge(run_id)
      if (!(goes_on && go_on) && !engine.active.includes(run_id)) return handle(run_id, Promise.resolve())
      return handle(
        run_id,
        engine.execute(run_id).catch((error: unknown) => ignoreBusy(error)),
      )
    },
    runs: (filter) => store.runs({ project, ...filter }),
    isUnderWay: ({ owner, lease_until }) => owner !== null && (lease_until ?? 0) > world.now() && !isDead(owner),
    sessions: (run_id) => store.sessions({ project, run_id }),
    events: async (run_id) => store.events((await mustFind(store, project, run_id)).run_id),
    servers: () => mcp?.status() ?? [],
    drain: () => engine.drain(),
    async close() {
      await engine.drain()
      await Promise.all(telling)
      await mcp?.close()
      await ports.embedder?.close?.()
      await toolbox?.close()
      await store.close()
    },
    [Symbol.asyncDispose]: () => troupe.close(),
  }
  return troupe
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
