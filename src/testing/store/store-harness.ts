import assert from 'node:assert/strict'
import type { ErrorCode, TroupeError } from '../../errors.ts'
import type { Event, EventDataOf, EventType, SessionOpen } from '../../kernel/event.ts'
import type { Append, AppendOutcome } from '../../kernel/journal/journal.ts'
import { DEFAULT_LIMITS } from '../../kernel/limits.ts'
import { NO_USAGE } from '../../kernel/model.ts'
import type { Claimant, Store } from '../../store/store.ts'

/** A store under test. */
export interface StoreHarness {
  store: Store
  /** Opens the same data in a second store; absent if the store is not persistent. */
  reopen?(): Promise<Store>
  /** Lets time pass on the clock of the store. */
  passTime(ms: number): Promise<void>
  dispose(): Promise<void>
}

export const NOW = 1_700_000_000_000

/** Appends events to a run under a lease, as its journal does. */
export class RunWriter {
  readonly store: Store
  readonly run_id: string
  readonly project: string
  epoch: number
  head: number

  constructor(store: Store, lease: { run_id: string; project: string; epoch: number; head: number }) {
    this.store = store
    this.run_id = lease.run_id
    this.project = lease.project
    this.epoch = lease.epoch
    this.head = lease.head
  }

  /** Creates the next event without appending it. */
  nextEvent<T extends EventType>(type: T, data: EventDataOf<T>, session_id?: string): Event {
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

  toAppend(events: readonly Event[], more: Partial<Append> = {}): Append {
    return { run_id: this.run_id, project: this.project, epoch: this.epoch, events, sync: 'normal', ...more }
  }

  async tryAppend(events: readonly Event[], more: Partial<Append> = {}): Promise<AppendOutcome> {
    const [outcome] = await this.store.append([this.toAppend(events, more)])
    assert.ok(outcome)
    return outcome
  }

  async append<T extends EventType>(type: T, data: EventDataOf<T>, session_id?: string): Promise<Event> {
    const event = this.nextEvent(type, data, session_id)
    const outcome = await this.tryAppend([event])
    if (!outcome.ok) throw outcome.error
    return event
  }
}

export function testRunStart(
  run_id: string,
  more: { project?: string; input?: unknown; pattern?: string; tags?: string[] } = {},
): Event {
  const { project = 'default', input = { instruction: `work of ${run_id}` }, pattern = 'task', tags } = more
  const tagged = tags ? { tags } : undefined
  const data = { format: 2 as const, project, pattern, version: 1, input, limits: DEFAULT_LIMITS, ...tagged }
  return { run_id, seq: 1, at: NOW, type: 'run:start', data }
}

export function testClaimant(owner: string, more: Partial<Claimant> = {}): Claimant {
  return { owner, ttl_ms: 30_000, ...more }
}

/** Creates a run and leases it. */
export async function createLeasedRun(store: Store, run_id: string, project = 'default'): Promise<RunWriter> {
  await store.createRun(testRunStart(run_id, { project }))
  return new RunWriter(store, await store.lease(run_id, testClaimant(`owner of ${run_id}`)))
}

/** Leases a run whose owner is dead. */
export async function takeOverRun(store: Store, run_id: string, owner: string): Promise<RunWriter> {
  const current = (await store.run(run_id))?.owner ?? null
  const dead_owners = current === null ? [] : [current]
  return new RunWriter(store, await store.lease(run_id, testClaimant(owner, { dead_owners })))
}

export function sessionOpenData(segment: number, more: Partial<SessionOpen> = {}): SessionOpen {
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

export function sessionEndData(text: string, turn_count = 1): EventDataOf<'session:end'> {
  const usage = { ...NO_USAGE, input: 10, output: 5, calls: turn_count }
  return { key: 'agents/ada', status: 'completed', stop_reason: 'completed', text, turn_count, usage, error: null }
}

export function gateOpenData(gate_id: string, question = 'continue?'): EventDataOf<'gate:open'> {
  return { key: `gates/${gate_id}`, gate_id, question, choices: ['yes', 'no'] }
}

export function runEndData(status: 'completed' | 'failed' | 'cancelled' = 'completed'): EventDataOf<'run:end'> {
  return { status, stop_reason: status, output: null, error: null }
}

export async function expectRejection(
  promise: Promise<unknown>,
  code: ErrorCode,
  message?: RegExp,
): Promise<TroupeError> {
  let caught: unknown
  await assert.rejects(promise, (error: unknown) => {
    caught = error
    return true
  })
  return expectError(caught, code, message)
}

export function expectAppendError(outcome: AppendOutcome | undefined, code: ErrorCode, message?: RegExp): TroupeError {
  assert.ok(outcome && !outcome.ok, 'expected the append to be rejected')
  return expectError(outcome.error, code, message)
}

function expectError(thrown: unknown, code: ErrorCode, message: RegExp | undefined): TroupeError {
  const error = thrown as TroupeError
  assert.equal(error.code, code, error.message)
  if (message) assert.match(`${error.message} (${error.hint})`, message)
  return error
}
