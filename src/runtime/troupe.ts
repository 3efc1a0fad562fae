import { isOwnerDead } from '../engine/lease-owner.ts'
import type { ReplayReport } from '../engine/replay-run.ts'
import { streamRun } from '../engine/run-stream.ts'
import { TroupeError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Event, ForkChanges, Status } from '../kernel/event.ts'
import type { Limits } from '../kernel/limits.ts'
import { DEFAULT_LIMITS } from '../kernel/limits.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { SteerAction } from '../kernel/steer-action.ts'
import type { GateRow, RunRow, SessionRow, Store } from '../store/store.ts'
import type { McpServerStatus } from '../tools/mcp/mcp-servers.ts'
import type { TroupeOptions } from './compose.ts'
import type { AnswerOptions, RunHandle, RunOptions, RunResult } from './run-handle.ts'
import { checkChoice, gateNotFoundError, ignoreBusy, readRunResult, requireRun } from './run-lookup.ts'
import { runStartFrom } from './run-start.ts'

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
  isRunning(run: RunRow): boolean
  sessions(run_id: string): Promise<SessionRow[]>
  events(run_id: string): Promise<Event[]>
  /** The MCP servers that are known, and how each is. Starts none. */
  mcpServers(): McpServerStatus[]
  /** Lets what is in flight finish, leaves every run resumable, and closes the store. */
  close(): Promise<void>
  /** The first half of `close`: the store stays open, so that what happened can still be read. */
  drain(): Promise<void>
}

/** A troupe, ready to run. */
export async function createTroupe(options: TroupeOptions = {}): Promise<Troupe> {
  // Loaded here, so that importing the package stays quick: schemas are most of what there is to load.
  const { compose, parsePatternInput, parseLimits } = await import('./compose.ts')
  const parts = await compose(options)
  const { world, project, agents, store, patterns, engine, ports, mcp, toolbox } = parts
  const result = (run_id: string) => readRunResult(store, world, run_id)
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
    return { run_id, result: settled, [Symbol.asyncIterator]: () => streamRun({ engine, store }, run_id, settled) }
  }

  /** Lets a run go on, here or wherever it is under way. */
  function goOn(run_id: string): RunHandle {
    const going = engine.execute(run_id).catch((error: unknown) => ignoreBusy(error))
    return handle(run_id, going)
  }

  async function stream(name: string, input: unknown, run: RunOptions = {}): Promise<RunHandle> {
    const data = runStartFrom(parts, { name, input, run }, { parsePatternInput, parseLimits })
    const run_id = `r_${world.randomHex(6)}`
    await store.createRun({ run_id, seq: 1, at: world.now(), type: 'run:start', data })
    return handle(run_id, engine.execute(run_id))
  }

  async function resume(run_id: string, how: { limits?: Partial<Limits>; force?: boolean } = {}): Promise<RunHandle> {
    const row = await requireRun(store, project, run_id)
    if (row.status === 'completed' || row.status === 'cancelled') return handle(run_id, Promise.resolve())
    const changed = how.limits ?? {}
    if (Object.keys(changed).length > 0 && engine.active.includes(run_id)) {
      throw new TroupeError('run_busy', `the run ${run_id} is under way: its limits cannot change now`, {
        hint: 'wait until it stops, or cancel it',
      })
    }
    const reopen = row.status === 'failed' || Object.keys(changed).length > 0
    parseLimits(DEFAULT_LIMITS, changed)
    return handle(run_id, engine.execute(run_id, reopen ? { limits: changed, force: how.force ?? false } : undefined))
  }

  const troupe: Troupe = {
    store,
    agents,
    patterns,
    stream,
    resume,
    result: async (run_id) => result((await requireRun(store, project, run_id)).run_id),
    run: async (name, input, run) => (await stream(name, input, run)).result,
    async cancel(run_id, reason = '') {
      await requireRun(store, project, run_id)
      await store.enqueueCommand(run_id, { kind: 'cancel', reason, by: 'user' }, world.now())
      engine.wake(run_id)
      await engine.execute(run_id).catch((error: unknown) => ignoreBusy(error))
      return result(run_id)
    },
    async replay(run_id) {
      await requireRun(store, project, run_id)
      const { replayRun } = await import('../engine/replay-run.ts')
      return replayRun({ store, ports }, run_id)
    },
    async fork(run_id, at, changes = {}) {
      await requireRun(store, project, run_id)
      const { forkRun } = await import('../engine/fork-run.ts')
      const fork = await forkRun({ store, ...ports }, run_id, { at, changes })
      return handle(fork, engine.execute(fork))
    },
    inbox: () => store.openGates({ project }),
    async answer(gate_id, answer, { by = 'user', resume: shouldResume = true } = {}) {
      const gate = await store.gate(gate_id)
      if (!gate || gate.project !== project) throw await gateNotFoundError(store, project, gate_id)
      checkChoice(gate, answer)
      await store.enqueueCommand(gate.run_id, { kind: 'answer', gate_id, answer, by }, world.now())
      engine.wake(gate.run_id)
      return shouldResume ? goOn(gate.run_id) : handle(gate.run_id, Promise.resolve())
    },
    async steer(run_id, action, { by = 'user', resume: shouldResume = true } = {}) {
      await requireRun(store, project, run_id)
      const { steerRun } = await import('../engine/steer-run.ts')
      const site = { store, patterns: ports.patterns, now: () => world.now() }
      const { resumes } = await steerRun(site, run_id, { action, by })
      engine.wake(run_id)
      const stays = !(resumes && shouldResume) && !engine.active.includes(run_id)
      return stays ? handle(run_id, Promise.resolve()) : goOn(run_id)
    },
    runs: (filter) => store.runs({ project, ...filter }),
    isRunning: ({ owner, lease_until }) => owner !== null && (lease_until ?? 0) > world.now() && !isOwnerDead(owner),
    sessions: (run_id) => store.sessions({ project, run_id }),
    events: async (run_id) => store.events((await requireRun(store, project, run_id)).run_id),
    mcpServers: () => mcp?.status() ?? [],
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
