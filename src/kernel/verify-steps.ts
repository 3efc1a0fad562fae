import type { Event, EventOf } from './event.ts'
import { isEvent } from './event.ts'
import type { Before, Check } from './finding.ts'
import type { Recorded } from './recorded.ts'

/*
 * Steps: what begins ends at most once, what ended had begun, and an action is never begun again.
 */

const ENDS = new Set([
  'session:end',
  'model:end',
  'model:error',
  'limit:hit',
  'tool:post',
  'tool:error',
  'step:end',
  'step:error',
  'session:input',
  'session:context',
  'artifact:write',
])
const CUT_SHORT = new Set(['budget', 'timeout', 'cancelled'])

/** The calls of one turn share a group, and no other turn has it. */
interface Groups {
  ofTurn: Map<string, string>
  known: Set<string>
}

/** The key of a step event; run events and free facts have none. */
function keyOf(event: Event): string | undefined {
  return (event.data as { key?: string | null }).key ?? undefined
}

export function checkSteps(): Check {
  const begun = new Set<string>()
  const acted = new Map<string, number>()
  const groups = { ofTurn: new Map<string, string>(), known: new Set<string>() }
  let reopens = 0
  return (event, before) => {
    const { recorded, say } = before
    const key = keyOf(event)
    if (isEvent(event, 'run:reopen')) reopens += 1
    if (isEvent(event, 'run:end') && event.data.status === 'completed') leftOpen(begun, recorded, before)
    if (key === undefined || isEvent(event, 'run:reopen')) return
    if (ENDS.has(event.type) && recorded.settled(key)) say('settled_twice', `${key} has an outcome already`)
    if (isEvent(event, 'tool:pre') || isEvent(event, 'step:begin') || isEvent(event, 'model:begin')) {
      begun.add(key)
      if (recorded.opened(key) || recorded.settled(key)) say('begun_twice', `${key} had begun before`)
    }
    if (isEvent(event, 'session:open') || isEvent(event, 'gate:open')) begun.add(key)
    if ((isEvent(event, 'tool:pre') || isEvent(event, 'step:begin')) && event.data.kind === 'act') {
      const at = acted.get(key)
      if (at === reopens) say('acted_twice', `the action ${key} is begun a second time`)
      acted.set(key, reopens)
    }
    checkModel(event, before)
    checkTool(event, before, groups)
  }
}

function checkModel(event: Event, { recorded, say }: Before): void {
  if (isEvent(event, 'model:begin')) {
    const { key, attempt } = event.data
    const expected = recorded.attempts(key) + 1
    if (attempt !== expected) say('model_pair', `attempt ${attempt} of ${key} where ${expected} belongs`)
  }
  if (!isEvent(event, 'model:end') && !isEvent(event, 'model:error') && !isEvent(event, 'model:lost')) return
  const { key, attempt } = event.data
  const begin = recorded.opened(key)
  if (!isEvent(begin, 'model:begin') || begin.data.attempt !== attempt || recorded.settled(key)) {
    say('model_pair', `${event.type} of ${key}, attempt ${attempt}, has no open begin`)
  } else if (begin.session_id !== event.session_id) say('model_pair', `${key} changed its session`)
}

/** Post and error belong to the call that began; only a call refused before it began has an error alone. */
function checkTool(event: Event, { recorded, say }: Before, groups: Groups): void {
  if (!isEvent(event, 'tool:pre') && !isEvent(event, 'tool:post') && !isEvent(event, 'tool:error')) return
  const { key, tool, tool_call_id, parallel_group_id } = event.data
  const turn = key.slice(0, key.lastIndexOf('/tool/'))
  const known = groups.ofTurn.get(turn)
  if (known === undefined && !groups.known.has(parallel_group_id)) {
    groups.ofTurn.set(turn, parallel_group_id)
    groups.known.add(parallel_group_id)
  } else if (known !== parallel_group_id) say('parallel_group', `${key} is in the group of another turn`)
  if (isEvent(event, 'tool:pre')) return
  const pre = recorded.opened(key)
  if (!isEvent(pre, 'tool:pre')) {
    if (isEvent(event, 'tool:post')) say('tool_pair', `${key} has a result and never began`)
    return
  }
  const same = pre.data.tool === tool && pre.data.tool_call_id === tool_call_id && pre.session_id === event.session_id
  if (!same) say('tool_pair', `${key} ended as another call than it began`)
}

/** After a completed run nothing is open, except under sessions that were cut short. */
function leftOpen(begun: ReadonlySet<string>, recorded: Recorded, { say }: Before): void {
  for (const key of begun) {
    if (!recorded.opened(key) || recorded.settled(key) || wasCut(key, recorded)) continue
    say('left_open', `the run completed while ${key} was open`)
  }
}

function wasCut(key: string, recorded: Recorded): boolean {
  for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1)) {
    const above = recorded.settled(key.slice(0, end)) as EventOf<'session:end'> | undefined
    if (isEvent(above, 'session:end') && CUT_SHORT.has(above.data.stop_reason)) return true
  }
  return false
}
