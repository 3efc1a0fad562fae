import type { Event, EventType } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { stepKey } from './journal-diff.ts'

/*
 * What a replay takes from the journal instead of doing it: answers of models, results of tools and steps, what hooks and
 * people said. All else (sessions, turns, patterns) is done again and compared.
 */

export interface Recordings {
  /** Events that the execution finds recorded. */
  events: Event[]
  /** True when this seed was used by an execution that asked for these keys. */
  isUsed(seed: Event, claimed: ReadonlySet<string>): boolean
}

const ALWAYS_RECORDED = new Set<EventType>([
  'run:reopen',
  'run:steer',
  'session:context',
  'session:compress',
  'model:end',
  'model:error',
  'limit:hit',
  'step:begin',
  'step:end',
  'step:error',
])

/** They belong to no key. */
const WITHOUT_KEY = new Set<EventType>(['run:reopen', 'run:steer'])

export function recordingsFrom(events: readonly Event[]): Recordings {
  const answered = new Set<string>()
  const patterns = new Set<string>()
  const calls = new Set<string>()
  const versions = new Map<string, number>()
  for (const event of events) {
    const key = stepKey(event)
    if (isEvent(event, 'model:end') || isEvent(event, 'model:error')) answered.add(`${key}\n${event.data.attempt}`)
    if (isEvent(event, 'tool:pre') && event.data.kind === 'pattern') patterns.add(key)
    if (isEvent(event, 'artifact:write')) versions.set(event.data.name, (versions.get(event.data.name) ?? 0) + 1)
  }
  for (const event of events) {
    if ((isEvent(event, 'tool:post') || isEvent(event, 'tool:error')) && !patterns.has(stepKey(event))) {
      calls.add(stepKey(event))
    }
  }
  const isSeed = (event: Event): boolean => {
    if (ALWAYS_RECORDED.has(event.type)) return true
    if (isEvent(event, 'model:begin')) return answered.has(`${event.data.key}\n${event.data.attempt}`)
    // A hook changed what the pattern was called with, and is not asked again.
    if (isEvent(event, 'tool:pre')) return event.data.kind !== 'pattern' || event.data.original_input !== undefined
    if (isEvent(event, 'tool:post') || isEvent(event, 'tool:error')) return calls.has(event.data.key)
    // Which of two writers came first decides the versions.
    if (isEvent(event, 'artifact:write')) return (versions.get(event.data.name) ?? 0) > 1
    if (isEvent(event, 'gate:open') || isEvent(event, 'gate:answer'))
      return enclosingToolCall(calls, event.data.key) !== undefined
    return false
  }
  const seeds = events.filter(isSeed)
  const isUsed = (seed: Event, claimed: ReadonlySet<string>) =>
    claimed.has(stepKey(seed)) ||
    claimed.has(enclosingToolCall(calls, stepKey(seed)) ?? '') ||
    WITHOUT_KEY.has(seed.type)
  return { events: seeds, isUsed }
}

/** The tool call that a question belongs to, as part of its answer: may it be made? */
function enclosingToolCall(calls: ReadonlySet<string>, key: string): string | undefined {
  for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1)) {
    if (calls.has(key.slice(0, end))) return key.slice(0, end)
  }
  return undefined
}
