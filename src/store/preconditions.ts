import { TroupeError, unknownNameError } from '../errors.ts'
import type { Status } from '../kernel/event.ts'
import type { Append } from '../kernel/journal/journal.ts'
import type { Claimant, Lease } from './store.ts'

/** The part of a run's row that decides who may write to it. */
export interface RunLeaseState {
  run_id: string
  status: Status
  epoch: number
  head: number
  owner: string | null
  lease_until: number | null
}

/** The error if an append must be rejected. `newestCommand` is called only if the append has `seen_command`. */
export function validateAppend(
  append: Append,
  run: RunLeaseState | undefined,
  newestCommand: () => number,
): TroupeError | undefined {
  if (!run) return unknownRunError(append.run_id)
  if (append.epoch < 1 || run.epoch !== append.epoch) return leaseLostError(append, run)
  const outOfSequence = sequenceError(append, run.head)
  if (outOfSequence) return outOfSequence
  if (append.seen_command !== undefined && newestCommand() > append.seen_command) return commandArrivedError(run.run_id)
  return undefined
}

function sequenceError({ run_id, events }: Append, head: number): TroupeError | undefined {
  const first = events[0]
  if (!first) return undefined
  if (first.seq !== head + 1) {
    return new TroupeError('lease_lost', `run ${run_id} is at event ${head}; event ${first.seq} does not follow it`, {
      hint: 'another writer appended to this run; read it again and resume',
    })
  }
  for (let index = 0; index < events.length; index++) {
    const event = events[index]
    if (event?.run_id === run_id && event.seq === head + 1 + index) continue
    return new TroupeError('invalid_input', `the events for run ${run_id} have a gap after event ${head + index}`, {
      hint: '`seq` must count up by one',
    })
  }
  return undefined
}

export function leaseLostError({ run_id, epoch }: Append, run: RunLeaseState): TroupeError {
  const owner = run.owner === null ? 'it has no owner now' : `${formatOwner(run.owner)} works on it now`
  return new TroupeError('lease_lost', `the lease of run ${run_id} (epoch ${epoch}) was lost: ${owner}`, {
    hint: `the run is at epoch ${run.epoch}; resume it to take it over`,
  })
}

function commandArrivedError(run_id: string): TroupeError {
  return new TroupeError('run_busy', `run ${run_id} was not parked: a command arrived`, { hint: 'a command arrived' })
}

function formatTime(time: Date): string {
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':')
}

/** Formats the owner id of an engine, `host|pid|…`; any other owner is returned as it is. */
function formatOwner(owner: string): string {
  const [host, pid, ...rest] = owner.split('|')
  return pid !== undefined && rest.length > 0 && /^\d+$/.test(pid) ? `another process (pid ${pid} on ${host})` : owner
}

/** The error if the claimant cannot get the lease. `now` is the time of the store. */
export function validateLease(run: RunLeaseState, claimant: Claimant, now: number): TroupeError | undefined {
  const { owner, lease_until } = currentLease(run, now)
  if (owner === null || lease_until === null || owner === claimant.owner) return undefined
  if (claimant.dead_owners?.includes(owner)) return undefined
  const until = formatTime(new Date(lease_until))
  return new TroupeError('run_busy', `run ${run.run_id} is busy: ${formatOwner(owner)} works on it until ${until}`, {
    hint: 'follow it, or wait until its owner finishes or its lease expires',
  })
}

/** The owner and the expiry of a lease; both `null` if the lease was released or has expired. */
export function currentLease(
  { owner, lease_until }: Pick<RunLeaseState, 'owner' | 'lease_until'>,
  now: number,
): Pick<RunLeaseState, 'owner' | 'lease_until'> {
  return lease_until !== null && lease_until > now ? { owner, lease_until } : { owner: null, lease_until: null }
}

/** The owner whose lease is replaced, although it has not given it back. */
export function takenFrom({
  owner,
  lease_until,
}: Pick<RunLeaseState, 'owner' | 'lease_until'>): Pick<Lease, 'taken_from'> {
  return owner === null || lease_until === null ? {} : { taken_from: { owner, lease_until } }
}

export function isEnded(status: Status): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

export function runEndedError({ run_id, status }: Pick<RunLeaseState, 'run_id' | 'status'>): TroupeError {
  return new TroupeError('run_ended', `run ${run_id} has ended (${status})`, {
    hint:
      status === 'failed'
        ? `resume it first: troupe resume ${run_id}`
        : 'start a new run; continue its sessions there with `session_id`',
  })
}

export function unknownRunError(run_id: string, known: readonly { run_id: string }[] = []): TroupeError {
  return unknownNameError('unknown_run', { kind: 'run', name: run_id, known: known.map((run) => run.run_id) })
}

export function duplicateRunError(run_id: string): TroupeError {
  return new TroupeError('invalid_input', `run ${run_id} already exists`, { hint: 'use another run id' })
}

const MAX_ALTERNATIVES = 8

export function unknownSessionError(session_id: string, sessions: readonly { session_id: string }[]): TroupeError {
  const known = sessions.map((session) => session.session_id)
  const error = unknownNameError('unknown_session', { kind: 'session', name: session_id, known })
  error.alternatives.splice(MAX_ALTERNATIVES)
  return error
}

export function sessionBusyError(session_id: string, holder: string): TroupeError {
  return new TroupeError('session_busy', `session ${session_id} is in use by run ${holder}`, {
    hint: `wait for run ${holder} to end, or cancel it`,
  })
}

export function otherAgentError(session: { session_id: string; agent: string }, requested: string): TroupeError {
  const { session_id, agent } = session
  return new TroupeError('invalid_input', `session ${session_id} belongs to the agent '${agent}', not '${requested}'`, {
    hint: 'omit `agent` to resume the session, or omit `session_id` to start a new one',
    alternatives: [agent],
  })
}

export function unknownGateError(gate_id: string, known: readonly { gate_id: string }[]): TroupeError {
  return unknownNameError('unknown_gate', { kind: 'gate', name: gate_id, known: known.map((gate) => gate.gate_id) })
}

export function gateAnsweredError(gate_id: string, by: string): TroupeError {
  return new TroupeError('gate_answered', `gate ${gate_id} was already answered by ${by}`, {
    hint: 'only the first answer counts; list open questions with: troupe inbox',
  })
}

export function appendFailure(error: TroupeError): { ok: false; error: TroupeError } {
  return { ok: false, error }
}
