import { TroupeError, toTroupeError } from '../../errors.ts'
import { isFatal } from '../../kernel/journal/fatal-error.ts'
import { recordValue } from '../../kernel/journal/step.ts'
import type { ReachedLimit } from '../../kernel/session/budget.ts'
import { toUserCodeError } from '../call-hook.ts'
import type {
  PerformerHost,
  PerformerResult,
  PerformerTurn,
  PerformerUpdate,
  PermissionReply,
  PermissionRequestedCall,
} from '../performer.ts'
import { requirePermission } from '../tool-call/tool-permission.ts'
import type { PerformerRecorder } from './performer-recorder.ts'
import type { PerformerScope } from './performer-scope.ts'

/*
 * A performer at work on one turn, from its call to its end, abort or interruption.
 * 1. The turn counts as an effect in flight, so that its run does not park; a `parkable` performer is released while a person
 *    is asked.
 * 2. When the process is asked to stop, a turn that waits for a person or has a session to resume is interrupted; others finish.
 * 3. A performer that stops too late after an abort is abandoned. What it reports until then still counts.
 */

/** A performer that reports nothing for this long, while no person is asked, is stopped. */
const IDLE_TIMEOUT_MS = 10 * 60 * 1000
const STOP_GRACE_MS = 5000

export class ActivePerformerTurn implements PerformerHost {
  /** The limit that reported usage reached. */
  limit: ReachedLimit | undefined
  isInterrupted = false
  readonly #scope: PerformerScope
  readonly #recorder: PerformerRecorder
  readonly #turn: PerformerTurn
  readonly #controller = new AbortController()
  #isHolding = false
  #openRequests = 0
  #lastUpdateAt = 0

  constructor(scope: PerformerScope, recorder: PerformerRecorder, turn: Omit<PerformerTurn, 'signal'>) {
    this.#scope = scope
    this.#recorder = recorder
    this.#turn = { ...turn, signal: this.#controller.signal }
  }

  /** Write-ahead: the turn is on disk as begun before the performer is called. */
  async begin(): Promise<void> {
    const { execution, session, signal } = this.#scope
    signal.throwIfAborted()
    await this.#hold()
    await execution.ensureReplayed()
    signal.throwIfAborted()
    const { stepKey } = this.#recorder
    if (!execution.journalIndex.opening(stepKey)) {
      execution.journal.append('step:begin', { key: stepKey, kind: 'act' }, session.id)
    }
    await execution.journal.commit('full')
    await execution.ensureLease()
  }

  async perform(): Promise<PerformerResult> {
    const { execution, signal, performer, name } = this.#scope
    const stopped = Promise.withResolvers<never>()
    this.#controller.signal.addEventListener('abort', () => stopped.reject(this.#controller.signal.reason))
    const onAbort = () => this.#controller.abort(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    const stopListening = execution.onInterrupt(() => this.#interruptIfPossible())
    const stopTimer = this.#watchIdle()
    const work = (async () => performer.perform(this.#turn, this))()
    try {
      return checkResult(name, await Promise.race([work, stopped.promise]))
    } catch (thrown) {
      await this.#waitUntilStopped(work)
      throw signal.aborted ? thrown : toUserCodeError(thrown, 'performer_failed')
    } finally {
      stopTimer()
      stopListening()
      signal.removeEventListener('abort', onAbort)
    }
  }

  report(update: PerformerUpdate): void {
    this.#lastUpdateAt = this.#scope.execution.ports.world.monotonic()
    try {
      this.#recorder.record(update)
    } catch (thrown) {
      this.#controller.abort(toPerformerError(this.#scope.name, thrown))
      return
    }
    if (update.type !== 'usage' || this.#recorder.isClosed) return
    this.limit ??= this.#scope.execution.budget.reachedLimit()
    if (!this.limit) return
    const { limit } = this.limit
    const hint = `raise the limit to continue: troupe resume RUN --limit ${limit}=N`
    this.#controller.abort(new TroupeError('limit_reached', `limit \`${limit}\` reached`, { hint }))
  }

  async saveSession(id: string): Promise<void> {
    this.#recorder.recordSession(id)
    await this.#scope.execution.journal.commit('full')
    if (this.#scope.execution.isPaused) this.#interruptIfPossible()
  }

  async requestPermission(call: PermissionRequestedCall): Promise<PermissionReply> {
    const { execution, session, performer } = this.#scope
    const { signal } = this.#controller
    signal.throwIfAborted()
    this.#openRequests += 1
    if (execution.isPaused) this.#interruptIfPossible()
    if (performer.parkable) this.release()
    const key = this.#recorder.nextCallKey()
    try {
      const step = { execution, key, signal, session_id: session.id, external: true as const }
      const reply = await recordValue(step, () => this.#decide(call, key))
      await this.#hold()
      // Before the performer acts on it: an approval is used once, even when the process dies now.
      await execution.journal.commit()
      return reply
    } finally {
      this.#openRequests -= 1
      this.#lastUpdateAt = execution.ports.world.monotonic()
    }
  }

  /** Stops counting the turn as an effect in flight. */
  release(): void {
    if (!this.#isHolding) return
    this.#isHolding = false
    this.#scope.execution.endEffect()
  }

  async #hold(): Promise<void> {
    if (this.#isHolding) return
    this.#isHolding = true
    try {
      await this.#scope.execution.beginEffect()
    } catch (thrown) {
      // Not begun, such as that of work that was cut: nothing must be counted as ended.
      this.#isHolding = false
      throw thrown
    }
  }

  async #decide(
    { tool, input, subject, kind = 'act' }: PermissionRequestedCall,
    key: string,
  ): Promise<PermissionReply> {
    const scope = { ...this.#scope, signal: this.#controller.signal, key, group: this.#recorder.group }
    try {
      await requirePermission(scope, { tool: { name: tool, kind, category: 'action' }, input, subject })
      return { allow: true }
    } catch (thrown) {
      const error = toTroupeError(thrown)
      if (error.code !== 'denied') throw error
      return { allow: false, reason: error.message }
    }
  }

  #interruptIfPossible(): void {
    if (this.#scope.session.performerSession === undefined && this.#openRequests === 0) return
    if (this.#controller.signal.aborted) return
    this.isInterrupted = true
    this.#recorder.close()
    const hint = 'stop the turn; `troupe resume RUN` continues it'
    this.#controller.abort(new TroupeError('cancelled', 'the run is interrupted and continues later', { hint }))
  }

  async #waitUntilStopped(work: Promise<unknown>): Promise<void> {
    const { world } = this.#scope.execution.ports
    const ended = Promise.withResolvers<void>()
    work.then(
      () => ended.resolve(),
      () => ended.resolve(),
    )
    const cancelTimer = world.after(STOP_GRACE_MS, ended.resolve)
    await ended.promise
    cancelTimer()
    const { reason } = this.#controller.signal
    if (reason instanceof TroupeError && isFatal(reason)) this.#recorder.discard()
    else this.#recorder.close()
  }

  #watchIdle(): () => void {
    const { world } = this.#scope.execution.ports
    this.#lastUpdateAt = world.monotonic()
    const check = () => {
      const idle = this.#openRequests > 0 ? 0 : world.monotonic() - this.#lastUpdateAt
      if (idle >= IDLE_TIMEOUT_MS) this.#controller.abort(idleError(this.#scope.name))
      else cancelTimer = world.after(IDLE_TIMEOUT_MS - idle, check)
    }
    let cancelTimer = world.after(IDLE_TIMEOUT_MS, check)
    return () => cancelTimer()
  }
}

/** The error of a turn whose performer threw, with the performer's name. */
export function toPerformerError(name: string, thrown: unknown): TroupeError {
  if (thrown instanceof TroupeError) return thrown
  return new TroupeError('performer_failed', `the performer '${name}' failed: ${toTroupeError(thrown).message}`, {
    hint: 'correct the performer, then resume the run: `troupe resume RUN` tries the turn again',
    cause: thrown,
  })
}

function idleError(name: string): TroupeError {
  const minutes = IDLE_TIMEOUT_MS / 60_000
  return new TroupeError('performer_failed', `the performer '${name}' reported nothing for ${minutes} minutes`, {
    hint: 'resume the run to continue its session, or set `timeout_ms` of the agent',
  })
}

const STOPS: ReadonlySet<unknown> = new Set<PerformerResult['stop']>(['completed', 'partial', 'max_turns', 'refused'])

function checkResult(name: string, result: PerformerResult | undefined): PerformerResult {
  const hasText = result?.text === undefined || typeof result.text === 'string'
  if (result && STOPS.has(result.stop) && hasText) return result
  throw new TroupeError('performer_failed', `the performer '${name}' ended without a result`, {
    hint: `return {stop, text} from \`perform\`, where \`stop\` is one of ${[...STOPS].join(', ')}`,
  })
}
