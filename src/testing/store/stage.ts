import assert from 'node:assert/strict'
import type { ErrorCode, TroupeError } from '../../errors.ts'
import type { DataOf, Event, EventType, SessionOpen } from '../../kernel/event.ts'
import type { Append, AppendOutcome } from '../../kernel/journal.ts'
import { DEFAULT_LIMITS } from '../../kernel/limits.ts'
import { NO_USAGE } from '../../kernel/model.ts'
import type { Claimant, Store } from '../../store/store.ts'

/** A store under test, and how to come back to what it holds. */
export interface StoreStage {
  store: Store
  /** Opens what the store holds once more, beside it; absent where nothing outlives the store. */
  reopen?(): Promise<Store>
  dispose(): Promise<void>
}

export const NOW = 1_700_000_000_000

/** One who works on a run: appends as its journal would. */
export class Writer {
  readonly store: Store
  readonly run_id: string
  readonly project: string
  epoch: number
  head: number

  constructor(store: Store, facts: { run_id: string; project: string; epoch: number; head: number }) {
    this.store = store
    this.run_id = facts.run_id
    this.project = facts.project
    this.epoch = facts.epoch
    this.head = facts.head
  }

  /** The next event, not yet appended. */
  event<T extends EventType>(type: T, data: DataOf<T>, session_id?: string): Event {
    this.head += 1
    const { run_id, head: seq } = this
    return {
      run_id,
      seq,
      at: NOW + seq,
      type,
      ...(session_id === undefined ? undefined : { session_id }),
      data,
    } as Event
  }

  batch(events: readonly Event[], more: Partial<Append> = {}): Append {
    return { run_id: this.run_id, project: this.project, epoch: this.epoch, events, sync: 'normal', ...more }
  }

  async try(events: readonly Event[], more: Partial<Append> = {}): Promise<AppendOutcome> {
    const [outcome] = await this.store.append([this.batch(events, more)])
    assert.ok(outcome)
    return outcome
  }

  async write<T extends EventType>(type: T, data: DataOf<T>, session_id?: string): Promise<Event> {
    const event = this.event(type, data, session_id)
    const outcome = await this.try([event])
    if (!outcome.ok) throw outcome.error
    return event
  }
}

export function startEvent(run_id: string, more: { project?: string; input?: unknown; pattern?: string } = {}): Event {
  const { project = 'default', input = { instruction: `work of ${run_id}` }, pattern = 'task' } = more
  const data = { format: 1 as const, project, pattern, version: 1, input, limits: DEFAULT_LIMITS }
  return { run_id, seq: 1, at: NOW, type: 'run:start', data }
}

export function claimant(owner: string, more: Partial<Claimant> = {}): Claimant {
  return { owner, now: NOW, ttl_ms: 30_000, dead: () => false, ...more }
}

/** Creates a run and leases it. */
export async function begin(store: Store, run_id: string, project = 'default'): Promise<Writer> {
  await store.createRun(startEvent(run_id, { project }))
  return new Writer(store, await store.lease(run_id, claimant(`owner of ${run_id}`)))
}

export function sessionOpen(segment: number, more: Partial<SessionOpen> = {}): SessionOpen {
  return {
    key: 'agents/ada',
    agent: { name: 'ada', description: '', instructions: '' },
    tools: [],
    parent_session_id: null,
    depth: 0,
    self_depth: 0,
    max_depth: 1,
    path: [],
    segment,
    ...more,
  }
}

export function sessionEnd(text: string, turn_count = 1): DataOf<'session:end'> {
  const usage = { ...NO_USAGE, input: 10, output: 5, calls: turn_count }
  return { key: 'agents/ada', status: 'completed', stop_reason: 'completed', text, turn_count, usage, error: null }
}

export function gateOpen(gate_id: string, question = 'go on?'): DataOf<'gate:open'> {
  return { key: `gates/${gate_id}`, gate_id, question, choices: ['yes', 'no'] }
}

export function runEnd(status: 'completed' | 'failed' | 'cancelled' = 'completed'): DataOf<'run:end'> {
  return { status, stop_reason: status, output: null, error: null }
}

export async function rejects(promise: Promise<unknown>, code: ErrorCode, says?: RegExp): Promise<TroupeError> {
  let caught: unknown
  await assert.rejects(promise, (error: unknown) => {
    caught = error
    return true
  })
  return isError(caught, code, says)
}

export function refused(outcome: AppendOutcome | undefined, code: ErrorCode, says?: RegExp): TroupeError {
  assert.ok(outcome && !outcome.ok, 'the append should have been refused')
  return isError(outcome.error, code, says)
}

function isError(thrown: unknown, code: ErrorCode, says: RegExp | undefined): TroupeError {
  const error = thrown as TroupeError
  assert.equal(error.code, code, error.message)
  if (says) assert.match(`${error.message} (${error.hint})`, says)
  return error
}
