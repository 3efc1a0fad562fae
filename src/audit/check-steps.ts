import type { Event, EventOf } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { JournalIndex } from '../kernel/journal/journal-index.ts'
import { INTERRUPTED_REASONS, OUTCOME_TYPES } from '../kernel/journal/journal-index.ts'
import type { CheckScope, JournalCheck } from './finding.ts'

/*
 * Steps: what begins ends at most once, what ended had begun, and an action is never begun again.
 */

/** The calls of one turn share a group, and no other turn has it. */
interface ParallelGroups {
  ofTurn: Map<string, string>
  known: Set<string>
}

/** The key of a step event; run events and free facts have none. */
function keyOf(event: Event): string | undefined {
  return (event.data as { key?: string | null }).key ?? undefined
}

export function checkSteps(): JournalCheck {
  const begun = new Set<string>()
  const acted = new Map<string, number>()
  const groups = { ofTurn: new Map<string, string>(), known: new Set<string>() }
  let reopens = 0
  return (event, before) => {
    const { journalIndex, report } = before
    const key = keyOf(event)
    if (isEvent(event, 'run:reopen')) reopens += 1
    if (isEvent(event, 'run:end') && event.data.status === 'completed') checkLeftOpen(begun, journalIndex, before)
    if (key === undefined || isEvent(event, 'run:reopen')) return
    // A second answer of a gate is reported by checkGates.
    if (OUTCOME_TYPES.has(event.type) && !isEvent(event, 'gate:answer') && journalIndex.outcome(key))
      report('settled_twice', `${key} has an outcome already`)
    if (isEvent(event, 'tool:pre') || isEvent(event, 'step:begin') || isEvent(event, 'model:begin')) {
      begun.add(key)
      if (journalIndex.opening(key) || journalIndex.outcome(key)) report('begun_twice', `${key} had begun before`)
    }
    if (isEvent(event, 'session:open') || isEvent(event, 'gate:open')) begun.add(key)
    if ((isEvent(event, 'tool:pre') || isEvent(event, 'step:begin')) && event.data.kind === 'act') {
      const at = acted.get(key)
      if (at === reopens) report('acted_twice', `the action ${key} is begun a second time`)
      acted.set(key, reopens)
    }
    checkModel(event, before)
    checkTool(event, before, groups)
  }
}

function checkModel(event: Event, { journalIndex, report }: CheckScope): void {
  if (isEvent(event, 'model:begin')) {
    const { key, attempt } = event.data
    const expected = journalIndex.attemptCount(key) + 1
    if (attempt !== expected) report('model_pair', `attempt ${attempt} of ${key} where ${expected} belongs`)
  }
  if (!isEvent(event, 'model:end') && !isEvent(event, 'model:error') && !isEvent(event, 'model:lost')) return
  const { key, attempt } = event.data
  const begin = journalIndex.opening(key)
  if (!isEvent(begin, 'model:begin') || begin.data.attempt !== attempt || journalIndex.outcome(key)) {
    report('model_pair', `${event.type} of ${key}, attempt ${attempt}, has no open begin`)
  } else if (begin.session_id !== event.session_id) report('model_pair', `${key} changed its session`)
}

/** Post and error belong to the call that began; only a call refused before it began has an error alone. */
function checkTool(event: Event, { journalIndex, report }: CheckScope, groups: ParallelGroups): void {
  if (!isEvent(event, 'tool:pre') && !isEvent(event, 'tool:post') && !isEvent(event, 'tool:error')) return
  const { key, tool, tool_call_id, parallel_group_id } = event.data
  const turn = key.slice(0, key.lastIndexOf('/tool/'))
  const known = groups.ofTurn.get(turn)
  if (known === undefined && !groups.known.has(parallel_group_id)) {
    groups.ofTurn.set(turn, parallel_group_id)
    groups.known.add(parallel_group_id)
  } else if (known !== parallel_group_id) report('parallel_group', `${key} is in the group of another turn`)
  if (isEvent(event, 'tool:pre')) return
  const pre = journalIndex.opening(key)
  if (!isEvent(pre, 'tool:pre')) {
    if (isEvent(event, 'tool:post')) report('tool_pair', `${key} has a result and never began`)
    return
  }
  const same = pre.data.tool === tool && pre.data.tool_call_id === tool_call_id && pre.session_id === event.session_id
  if (!same) report('tool_pair', `${key} ended as another call than it began`)
}

/** After a completed run nothing is open, except under sessions that were cut short. */
function checkLeftOpen(begun: ReadonlySet<string>, recorded: JournalIndex, { report }: CheckScope): void {
  for (const key of begun) {
    if (!recorded.opening(key) || recorded.outcome(key) || wasInterrupted(key, recorded)) continue
    report('left_open', `the run completed while ${key} was open`)
  }
}

function wasInterrupted(key: string, recorded: JournalIndex): boolean {
  for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1)) {
    const above = recorded.outcome(key.slice(0, end)) as EventOf<'session:end'> | undefined
    if (isEvent(above, 'session:end') && INTERRUPTED_REASONS.has(above.data.stop_reason)) return true
  }
  return false
}
