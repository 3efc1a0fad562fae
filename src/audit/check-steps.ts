import type { Event, EventOf } from '../kernel/event.ts'
import { eventRole, isEvent, isKernelEventType } from '../kernel/event.ts'
import { stepsCutBy } from '../kernel/journal/cut.ts'
import type { JournalIndex } from '../kernel/journal/journal-index.ts'
import { INTERRUPTED_REASONS } from '../kernel/journal/journal-index.ts'
import { ancestorKeys } from '../kernel/journal/step-key.ts'
import type { CheckScope, JournalCheck } from './finding.ts'

/*
 * Steps: a step that begins ends at most once, an outcome has a start, and an action never begins twice.
 */

/** The tool calls of a turn share one group id, which no other turn uses. */
interface ParallelGroups {
  byTurn: Map<string, string>
  ids: Set<string>
}

function stepKeyFrom(event: Event): string | undefined {
  return (event.data as { key?: string | null }).key ?? undefined
}

export function checkSteps(): JournalCheck {
  const begunKeys = new Set<string>()
  /** Action keys, and the number of reopens when they began. */
  const actions = new Map<string, number>()
  const groups: ParallelGroups = { byTurn: new Map(), ids: new Set() }
  let reopens = 0
  return (event, scope) => {
    const { journalIndex, report } = scope
    const key = stepKeyFrom(event)
    if (isEvent(event, 'run:reopen')) reopens += 1
    forgetGroups(groups, stepsCutBy(event))
    if (isEvent(event, 'run:end') && event.data.status === 'completed') checkLeftOpen(begunKeys, scope)
    if (key === undefined || isEvent(event, 'run:reopen')) return
    // `checkGates` reports a second answer to a gate.
    if (
      isKernelEventType(event.type) &&
      eventRole(event.type) === 'settles' &&
      !isEvent(event, 'gate:answer') &&
      journalIndex.outcome(key)
    )
      report('settled_twice', `${key} already has an outcome`)
    if (isEvent(event, 'tool:pre') || isEvent(event, 'step:begin') || isEvent(event, 'model:begin')) {
      begunKeys.add(key)
      if (journalIndex.opening(key) || journalIndex.outcome(key)) report('begun_twice', `${key} has already begun`)
    }
    if (isEvent(event, 'session:open') || isEvent(event, 'gate:open')) begunKeys.add(key)
    if ((isEvent(event, 'tool:pre') || isEvent(event, 'step:begin')) && event.data.kind === 'act') {
      if (actions.get(key) === reopens) report('acted_twice', `action ${key} begins a second time`)
      actions.set(key, reopens)
    }
    checkModelCall(event, scope)
    checkToolCall(event, scope, groups)
  }
}

/** A turn that is worked out anew has another group. */
function forgetGroups({ byTurn }: ParallelGroups, keys: readonly string[]): void {
  if (keys.length === 0) return
  const cut = new Set(keys)
  for (const turn of byTurn.keys()) if ([turn, ...ancestorKeys(turn)].some((key) => cut.has(key))) byTurn.delete(turn)
}

function checkModelCall(event: Event, { journalIndex, report }: CheckScope): void {
  if (isEvent(event, 'model:begin')) {
    const { key, attempt } = event.data
    const expected = journalIndex.attemptCount(key) + 1
    if (attempt !== expected) report('model_pair', `${key} has attempt ${attempt}, expected ${expected}`)
  }
  if (!isEvent(event, 'model:end') && !isEvent(event, 'model:error') && !isEvent(event, 'model:lost')) return
  const { key, attempt } = event.data
  const begin = journalIndex.opening(key)
  if (!isEvent(begin, 'model:begin') || begin.data.attempt !== attempt || journalIndex.outcome(key)) {
    report('model_pair', `${event.type} of ${key}, attempt ${attempt}, has no open model:begin`)
  } else if (begin.session_id !== event.session_id) report('model_pair', `${key} changed its session`)
}

/** `tool:post` and `tool:error` match their `tool:pre`; only a call rejected or denied before it began has no `tool:pre`. */
function checkToolCall(event: Event, { journalIndex, report }: CheckScope, groups: ParallelGroups): void {
  if (!isEvent(event, 'tool:pre') && !isEvent(event, 'tool:post') && !isEvent(event, 'tool:error')) return
  const { key, tool, tool_call_id, parallel_group_id } = event.data
  const turn = key.slice(0, key.lastIndexOf('/tool/'))
  const group = groups.byTurn.get(turn)
  if (group === undefined && !groups.ids.has(parallel_group_id)) {
    groups.byTurn.set(turn, parallel_group_id)
    groups.ids.add(parallel_group_id)
  } else if (group !== parallel_group_id) report('parallel_group', `${key} has the group id of another turn`)
  if (isEvent(event, 'tool:pre')) return
  const pre = journalIndex.opening(key)
  if (!isEvent(pre, 'tool:pre')) {
    if (isEvent(event, 'tool:post')) report('tool_pair', `${key} has a tool:post but no tool:pre`)
    return
  }
  const same = pre.data.tool === tool && pre.data.tool_call_id === tool_call_id && pre.session_id === event.session_id
  if (!same) report('tool_pair', `${event.type} of ${key} does not match its tool:pre`)
}

/** A completed run has no open steps, except under interrupted sessions. */
function checkLeftOpen(begunKeys: ReadonlySet<string>, { journalIndex, report }: CheckScope): void {
  for (const key of begunKeys) {
    if (!journalIndex.opening(key) || journalIndex.outcome(key) || wasInterrupted(key, journalIndex)) continue
    report('left_open', `the run completed while ${key} was open`)
  }
}

function wasInterrupted(key: string, journalIndex: JournalIndex): boolean {
  for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1)) {
    const ancestor = journalIndex.outcome(key.slice(0, end)) as EventOf<'session:end'> | undefined
    if (isEvent(ancestor, 'session:end') && INTERRUPTED_REASONS.has(ancestor.data.stop_reason)) return true
  }
  return false
}
