import { isResumableFailure } from '../kernel/resumable-failure.ts'
import type { RunModel } from '../run-model/run-model.ts'
import type { SessionNode, WorkReport } from '../run-model/step-tree.ts'
import { findEnclosing, nodesIn, parentStepKey } from '../run-model/step-tree.ts'

/*
 * The failures of sub-agents that are retried with a run, besides the steps that its end names.
 * 1. Nobody has answered to it: no session above the failed one has responded since. A failure that an agent has answered to is part of its conversation.
 * 2. Somebody waits for the work: each call above failed with it, up to a session that is retried, or was interrupted. What a pattern has dealt with stays.
 * 3. When a call says what to retry, its other steps stay: nobody would take them up.
 * 4. The result of a background session counts for the session that collected it, or else for the one that started it.
 */

interface RetryScope {
  model: RunModel
  /** The steps that the end of the run names. */
  named: readonly string[]
  isFailed: boolean
}

export function failedDescendants(scope: RetryScope): string[] {
  const { children, reports } = scope.model
  const sessions = [...nodesIn(children)].flatMap((node) =>
    node.kind === 'session' && isRetried(scope, node) ? node : [],
  )
  return [
    ...sessions.flatMap(({ failure }) => failure?.step ?? []),
    ...sessions.flatMap(collectingSteps),
    ...[...reports.values()].flatMap((report) => unansweredSteps(scope, report)),
  ]
}

function isRetried(scope: RetryScope, session: SessionNode): boolean {
  const { failure } = session
  if (!failure || !isResumableFailure(failure.error)) return false
  return !isAnswered(session, failure.seq) && isAwaited(scope, session)
}

/** The steps that returned the result of a background session: they return that of the next attempt. */
function collectingSteps({ collector, results }: SessionNode): string[] {
  if (!collector) return results
  const recorded = results.filter((step) => step.startsWith(`${collector.key}/`))
  return recorded.length > 0 ? recorded : [collector.key]
}

/** The steps to retry that an agent was told about, and has not answered to. */
function unansweredSteps(scope: RetryScope, { retry_keys, session, seq }: WorkReport): string[] {
  if (retry_keys.length === 0 || !isAwaited(scope, session)) return []
  return retry_keys.filter((step) => {
    const at = sessionAt(scope, step)
    return !(at && at !== session ? isAnswered(at, seq) : hasResponded(session, seq))
  })
}

function sessionAt({ model }: RetryScope, step: string): SessionNode | undefined {
  return findEnclosing(model, step, 'session')
}

/** Whether a session, or one above it, has responded since the event `seq`. */
function hasResponded(session: SessionNode, seq: number, below: readonly SessionNode[] = []): boolean {
  return session.responded_seq > seq || isAnswered(session, seq, below)
}

/** Whether somebody has responded to the end of a session at the event `seq`. `below` are the sessions on the way here: two may have collected each other. */
function isAnswered(session: SessionNode, seq: number, below: readonly SessionNode[] = []): boolean {
  const { data, parent, collector } = session
  const path = [...below, session]
  if (!data.background) return parent !== undefined && hasResponded(parent, seq, path)
  if (!collector) return parent?.ended_seq != null && isAnswered(parent, parent.ended_seq, path)
  if (isDealtWith(collector, session)) return true
  return !below.includes(session) && hasResponded(collector.session, collector.seq, path)
}

/** True when the collector has dealt with a failure, or says itself what to retry. */
function isDealtWith({ kind, error, retry_keys }: WorkReport, { data }: SessionNode): boolean {
  if (kind === 'delivery') return data.collect_with !== undefined
  return retry_keys.length > 0 || !error || !isResumableFailure(error)
}

function isAwaited(scope: RetryScope, session: SessionNode, below: readonly SessionNode[] = []): boolean {
  if (below.includes(session)) return true
  const { data, parent, collector, failure, results } = session
  const path = [...below, session]
  const getter = data.background ? (collector?.session ?? parent) : undefined
  if (getter) return isAwaited(scope, getter, path)
  if (parent) return isRetriedWith(scope, session, path) && isAwaited(scope, parent, path)
  if (scope.named.some((step) => sessionAt(scope, step) === session)) return true
  return scope.isFailed && (data.background ? results.length === 0 : !failure)
}

/** Whether the call that a session is part of is made again with it. `path` are the sessions from the failed one up to it. */
function isRetriedWith(scope: RetryScope, { key, parent }: SessionNode, path: readonly SessionNode[]): boolean {
  const { reports } = scope.model
  let call = parentStepKey(key)
  while (call.length > (parent?.key.length ?? 0) && !reports.has(call)) call = parentStepKey(call)
  const { error = null, retry_keys = [] } = reports.get(call) ?? {}
  if (retry_keys.length === 0) return error !== null && isResumableFailure(error)
  return [...retry_keys, error?.step ?? []].flat().some((step) => path.some((each) => each === sessionAt(scope, step)))
}
