import { errorFromRecord, TroupeError, toTroupeError } from '../../errors.ts'
import type { StepOptions } from '../context.ts'
import type { Event } from '../event.ts'
import { isEvent } from '../event.ts'
import { canonicalJson, shortHash } from '../hash.ts'
import { withAbort } from '../world.ts'
import type { Execution } from './execution.ts'
import { isFatal } from './fatal-error.ts'

/*
 * Durable steps. Every effect of a run goes through `settleOnce`:
 * 1. The key is claimed: using it twice in one execution is an error.
 * 2. A recorded outcome is returned, and the effect is not repeated.
 * 3. Otherwise the effect is performed, and appends its outcome.
 * 4. A replay produces only outcomes that follow from the journal. An outcome from outside (a clock, a hook, a person, a race)
 *    that the journal does not hold is never produced: the step waits until it is aborted.
 */

export interface StepScope {
  execution: Execution
  key: string
  signal: AbortSignal
  /** The session that the outcome belongs to. */
  session_id?: string | undefined
  /** The outcome comes from outside the journal: a replay waits instead of producing it. */
  external?: true
}

/** Claims the key and returns its recorded outcome; otherwise performs the effect, which returns the outcome it appended. */
export function settleOnce(scope: StepScope, perform: () => Event): Event
export function settleOnce(scope: StepScope, perform: () => Event | Promise<Event>): Event | Promise<Event>
export function settleOnce(scope: StepScope, perform: () => Event | Promise<Event>): Event | Promise<Event> {
  const { execution, key, signal } = scope
  const recorded = execution.claim(key)
  if (recorded) return recorded
  if (!scope.external) return perform()
  if (execution.ports.replayOnly) return withAbort(new Promise<never>(() => {}), signal)
  signal.throwIfAborted()
  return perform()
}

/** Records a value under a key. Unlike `runStep`, it is no effect to wait for, and an error is not recorded. */
export async function recordValue<T>(scope: StepScope, produce: () => T | Promise<T>): Promise<T> {
  const outcome = await settleOnce(scope, () => {
    const value = produce()
    return value instanceof Promise ? value.then((result) => appendResult(scope, result)) : appendResult(scope, value)
  })
  return (isEvent(outcome, 'step:end') ? outcome.data.result : undefined) as T
}

/** A step of a pattern: its result or its error is recorded, and an effect that acts is begun in the journal first. */
export async function runStep<T>(
  scope: StepScope,
  effect: () => T | Promise<T>,
  options: StepOptions = {},
): Promise<T> {
  const version = options.version ?? 1
  const input_hash = options.input === undefined ? null : shortHash(canonicalJson(options.input))
  let thrown: TroupeError | undefined
  const outcome = await settleOnce({ ...scope, external: true }, async () => {
    try {
      const result = await performEffect(scope, effect, options.kind === 'act')
      return appendResult(scope, result, { version, input_hash })
    } catch (caught) {
      thrown = toRecordableError(scope, caught)
      return appendError(scope, thrown, { version, input_hash })
    }
  })
  if (thrown) throw thrown
  if (isEvent(outcome, 'step:error')) throw errorFromRecord(outcome.data.error)
  if (!isEvent(outcome, 'step:end'))
    throw new TroupeError('internal', `the step '${scope.key}' ended with ${outcome.type}`)
  scope.execution.checkDrift(scope.key, outcome.data.input_hash, input_hash)
  return outcome.data.result as T
}

interface StepFacts {
  version: number
  input_hash: string | null
}

/** Normalised to JSON, so that the code sees the same value live and on resume. */
export function appendResult(
  { execution, key, session_id }: StepScope,
  result: unknown,
  { version, input_hash }: StepFacts = { version: 1, input_hash: null },
): Event {
  const value: unknown = result === undefined ? null : JSON.parse(JSON.stringify(result))
  return execution.journal.append('step:end', { key, v: version, input_hash, result: value }, session_id)
}

function appendError({ execution, key, session_id }: StepScope, error: TroupeError, facts: StepFacts): Event {
  const { version, input_hash } = facts
  return execution.journal.append('step:error', { key, v: version, input_hash, error: error.toJSON() }, session_id)
}

/** Throws what must not be recorded: an abort is no outcome, and a fatal error ends the execution. */
function toRecordableError({ key, signal }: StepScope, caught: unknown): TroupeError {
  if (signal.aborted) throw signal.reason
  const error = toTroupeError(caught)
  if (isFatal(error)) throw error
  error.step ??= key
  return error
}

function performEffect<T>(
  { execution, key, signal }: StepScope,
  effect: () => T | Promise<T>,
  acts: boolean,
): Promise<T> {
  return execution.runEffect(async () => {
    if (acts) await beginAction(execution, key)
    signal.throwIfAborted()
    const effectResult = effect()
    // An effect that ignores its signal would keep a cancelled run from ending.
    return effectResult instanceof Promise ? withAbort(effectResult, signal) : effectResult
  })
}

/** Write-ahead: an action is on disk as begun before it is performed, and is never repeated when its outcome is unknown. */
async function beginAction(execution: Execution, key: string): Promise<void> {
  if (execution.journalIndex.opening(key)) {
    throw new TroupeError('outcome_unknown', `the action '${key}' had begun when the run was interrupted`, {
      hint: 'it may or may not have taken effect, and was not repeated; check before you run it again',
    })
  }
  await execution.ensureReplayed()
  execution.journal.append('step:begin', { key, kind: 'act' })
  await execution.journal.commit('full')
  await execution.ensureLease()
}

/** The name of the branch that settled first, recorded so that a replay takes the same one. */
export function firstToSettle(scope: StepScope, branches: Readonly<Record<string, Promise<unknown>>>): Promise<string> {
  // Handled even when the winner is recorded: a losing branch that is aborted later must not end the process.
  const finished = Object.entries(branches).map(([name, branch]) =>
    branch.then(
      () => name,
      () => name,
    ),
  )
  return recordValue({ ...scope, external: true }, () => Promise.race(finished))
}
