import { TroupeError, unknownNameError } from '../errors.ts'
import type { Status } from '../kernel/event.ts'
import type { Append } from '../kernel/journal/journal.ts'
import type { Claimant } from './store.ts'

/** The part of a run's row that decides who may write to it. */
export interface RunLeaseState {
  run_id: string
  status: Status
  epoch: number
  head: number
  owner: string | null
  lease_until: number | null
}

/** Why an append must not happen, or `undefined` if it may. `newestCommand` is asked only when the append cares. */
export function validateAppend(
  append: Append,
  run: RunLeaseState | undefined,
  newestCommand: () => number,
): TroupeError | undefined {
  if (!run) return unknownRunError(append.run_id, [])
  if (append.epoch < 1 || run.epoch !== append.epoch) return leaseLostError(append, run)
  const broken = sequenceError(append, run.head)
  if (broken) return broken
  if (append.seen_command !== undefined && newestCommand() > append.seen_command) return commandArrivedError(run.run_id)
  return undefined
}

function sequenceError({ run_id, events }: Append, head: number): TroupeError | undefined {
  const first = events[0]
  if (!first) return undefined
  if (first.seq !== head + 1) {
    return new TroupeError('lease_lost', `run ${run_id} stands at event ${head}; event ${first.seq} does not follow`, {
      hint: 'someone else wrote to this run; read it again and resume',
    })
  }
  for (let index = 0; index < events.length; index++) {
    const event = events[index]
    if (event?.run_id === run_id && event.seq === head + 1 + index) continue
    return new TroupeError('invalid_input', `the events for run ${run_id} have a hole after ${head + index}`)
  }
  return undefined
}

export function leaseLostError({ run_id, epoch }: Append, run: RunLeaseState): TroupeError {
  const now = run.owner === null ? 'nobody works on it now' : `${formatOwner(run.owner)} works on it now`
  return new TroupeError('lease_lost', `run ${run_id} is no longer this writer's (epoch ${epoch}): ${now}`, {
    hint: `the run is at epoch ${run.epoch}; resume it to take it over`,
  })
}

function commandArrivedError(run_id: string): TroupeError {
  return new TroupeError('run_busy', `run ${run_id} was not parked: a command arrived`, { hint: 'a command arrived' })
}

function formatTime(time: Date): string {
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':')
}

/** `host|pid|…`, as the engine names itself, in words; any other name as it is. */
function formatOwner(owner: string): string {
  const [host, pid, ...rest] = owner.split('|')
  return pid !== undefined && rest.length > 0 && /^\d+$/.test(pid) ? `another process (pid ${pid} on ${host})` : owner
}

/** Why this claimant may not have the run, or `undefined` if it may. */
export function validateLease(run: RunLeaseState, claimant: Claimant): TroupeError | undefined {
  const { owner, lease_until } = run
  if (owner === null || lease_until === null || owner === claimant.owner) return undefined
  if (lease_until <= claimant.now || claimant.isDead(owner)) return undefined
  const until = formatTime(new Date(lease_until))
  return new TroupeError('run_busy', `run ${run.run_id} is busy: ${formatOwner(owner)} works on it until ${until}`, {
    hint: 'watch it, or wait for its owner to finish or its lease to run out',
  })
}

export function isEnded(status: Status): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

export function runEndedError({ run_id, status }: Pick<RunLeaseState, 'run_id' | 'status'>): TroupeError {
  return new TroupeError('run_ended', `run ${run_id} has ended (${status})`, {
    hint: 'resume it first if it should go on',
  })
}

export function unknownRunError(run_id: string, known: readonly string[]): TroupeError {
  return unknownNameError('unknown_run', { kind: 'run', name: run_id, known })
}

export function duplicateRunError(run_id: string): TroupeError {
  return new TroupeError('invalid_input', `run ${run_id} exists already`, { hint: 'give the new run another id' })
}

const MAX_ALTERNATIVES = 8

export function unknownSessionError(session_id: string, known: readonly string[]): TroupeError {
  const { message, alternatives } = unknownNameError('unknown_session', { kind: 'session', name: session_id, known })
  return new TroupeError('unknown_session', message, {
    alternatives: alternatives.slice(0, MAX_ALTERNATIVES),
    hint: 'give a full session id, or name an agent to start a new session',
  })
}

export function sessionBusyError(session_id: string, holder: string): TroupeError {
  return new TroupeError('session_busy', `session ${session_id} is in use by run ${holder}`, {
    hint: `wait for run ${holder} to end, or cancel it`,
  })
}

export function unknownGateError(gate_id: string, known: readonly string[]): TroupeError {
  return unknownNameError('unknown_gate', { kind: 'gate', name: gate_id, known })
}

export function gateAnsweredError(gate_id: string, by: string): TroupeError {
  return new TroupeError('gate_answered', `gate ${gate_id} was already answered by ${by}`, {
    hint: 'the first answer counts',
  })
}

/** A refusal of one append, in the shape the journal reads. */
export function appendFailure(error: TroupeError): { ok: false; error: TroupeError } {
  return { ok: false, error }
}
