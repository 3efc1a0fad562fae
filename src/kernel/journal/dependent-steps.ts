import type { Event } from '../event.ts'
import { isEvent, isKernelEventType } from '../event.ts'
import { aloneName } from './cut.ts'
import { ancestorKeys } from './step-key.ts'

/*
 * What a retry concerns of the recorded steps. All functions return the keys as recorded, topmost only.
 */

/** Recorded steps by their keys: the events with which they began, and those that settled them. */
export interface RecordedSteps {
  openings: ReadonlyMap<string, Event>
  outcomes: ReadonlyMap<string, Event>
}

/** The steps that depend on retried ones: those that began after the first of these had failed, and that the execution has not claimed. */
export function dependentSteps(
  recorded: RecordedSteps,
  { failedAt, claimed }: { failedAt: number; claimed: ReadonlySet<string> },
): string[] {
  const { openings, outcomes } = recorded
  const dependent = new Map<string, string>()
  const steps = new Map([...outcomes, ...openings])
  const above = new Set([...steps.keys()].flatMap(ancestorKeys))
  for (const [step, began] of [...steps].sort(([a], [b]) => a.length - b.length)) {
    if (began.seq <= failedAt || claimed.has(step)) continue
    const path = [step, ...ancestorKeys(step)]
    const isCovered = path.some((key) => dependent.has(key) || (claimed.has(key) && hasOwnSteps(outcomes.get(key))))
    if (isCovered || isKept(recorded, step)) continue
    const isAlone = above.has(step) && !hasOwnSteps(began)
    if (isAlone) dependent.set(aloneName(step), aloneName(recordedKey(began)))
    else dependent.set(step, recordedKey(began))
  }
  return [...dependent.values()]
}

/** Events of steps without steps of their own: a key that goes on where theirs ends is that of another step. */
const SINGLE_TYPES = new Set<string>([
  ...['step:begin', 'step:end', 'step:error'],
  ...['gate:open', 'gate:answer', 'artifact:write'],
])

function hasOwnSteps(event: Event | undefined): boolean {
  return event !== undefined && isKernelEventType(event.type) && !SINGLE_TYPES.has(event.type)
}

/** The sessions with `keep` that the execution has not claimed; with `onlyOpen` those that wait for a retry. */
export function unclaimedSessions(
  { openings, outcomes }: RecordedSteps,
  { claimed, onlyOpen }: { claimed: ReadonlySet<string>; onlyOpen: boolean },
): string[] {
  return [...openings].flatMap(([key, opening]) => {
    if (claimed.has(key) || !isEvent(opening, 'session:open') || !opening.data.keep) return []
    const isSettled = (each: string) => claimed.has(each) && outcomes.has(each)
    return (onlyOpen && outcomes.has(key)) || ancestorKeys(key).some(isSettled) ? [] : recordedKey(opening)
  })
}

/** True for a session with `keep`, and for its work; what a pattern recorded about it is no part of that. */
export function isKept({ openings, outcomes }: RecordedSteps, key: string): boolean {
  const path = [key, ...ancestorKeys(key)]
  return path.some((each, index) => {
    const opening = openings.get(each)
    if (!isEvent(opening, 'session:open') || !opening.data.keep) return false
    const isOwn = (below: string) => (openings.get(below) ?? outcomes.get(below))?.session_id === opening.session_id
    return index === 0 || path.slice(0, index).some(isOwn)
  })
}

function recordedKey({ data }: Event): string {
  return (data as { key: string }).key
}
