import type { Event, EventOf, SessionOpen } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { stepsCutBy } from '../kernel/journal/cut.ts'
import { ancestorKeys } from '../kernel/journal/step-key.ts'
import type { Usage } from '../kernel/model.ts'
import { addUsage, NO_USAGE } from '../kernel/model.ts'
import type { CheckScope, JournalCheck } from './finding.ts'

/*
 * Sessions: one open segment at a time, all events inside a segment, and usage that equals the sum of the model requests.
 */

interface SessionRecord {
  opening: SessionOpen
  segment: number
  /** Key of the newest segment. */
  key: string
  /** False if its first segment is in another run, whose model requests this journal does not have. */
  isComplete: boolean
  usage: Usage & { calls: number }
  /** Before the newest segment. */
  before: SessionRecord | undefined
}

export function checkSessions(): JournalCheck {
  const sessions = new Map<string, SessionRecord>()
  const children = new Map<string, number>()
  let breadth = Number.POSITIVE_INFINITY
  return (event, scope) => {
    if (isEvent(event, 'run:start') || isEvent(event, 'run:reopen')) breadth = event.data.limits.breadth
    if (isEvent(event, 'run:end') && event.data.status === 'completed') checkTotals(sessions, scope)
    for (const parent of forgetCutSegments(stepsCutBy(event), sessions))
      children.set(parent, (children.get(parent) ?? 0) - 1)
    const id = event.session_id
    if (id === undefined) return
    if (isEvent(event, 'session:open')) {
      sessions.set(id, trackOpening(event, sessions, scope))
      const parent = event.data.parent_session_id
      if (parent === null || event.data.segment > 1 || event.data.bound === 'own') return
      const count = (children.get(parent) ?? 0) + 1
      children.set(parent, count)
      if (count > breadth) scope.report('limit', `${parent} has ${count} sub-sessions, limit \`breadth\` is ${breadth}`)
      return
    }
    const session = sessions.get(id)
    if (!session || scope.journalIndex.outcome(session.key)) {
      scope.report('session_closed', `${event.type} of session ${id}, which is not open`)
    }
    if (!session) return
    if (isEvent(event, 'model:end') || isEvent(event, 'model:error')) {
      session.usage = { ...addUsage(session.usage, event.data.usage), calls: session.usage.calls + 1 }
    }
    if (isEvent(event, 'session:end')) checkEnd(event, session, scope)
  }
}

/** Returns to each session as it was before what was cut; numbers of segments go on. Returns the parents of those that are gone. */
function forgetCutSegments(keys: readonly string[], sessions: Map<string, SessionRecord>): string[] {
  if (keys.length === 0) return []
  const cut = new Set(keys)
  const isCut = ({ key }: SessionRecord) => [key, ...ancestorKeys(key)].some((each) => cut.has(each))
  return [...sessions].flatMap(([id, record]) => {
    let kept: SessionRecord | undefined = record
    while (kept && isCut(kept)) kept = kept.before
    if (kept) sessions.set(id, { ...kept, segment: record.segment })
    else sessions.delete(id)
    const { parent_session_id: parent, segment, bound } = record.opening
    return kept || parent === null || segment > 1 || bound === 'own' ? [] : parent
  })
}

function trackOpening(
  event: EventOf<'session:open'>,
  sessions: ReadonlyMap<string, SessionRecord>,
  scope: CheckScope,
): SessionRecord {
  const { data } = event
  const id = event.session_id ?? ''
  const earlier = sessions.get(id)
  checkSegment({ id, opening: data, earlier }, scope)
  checkPlacement({ id, opening: data, parent: sessions.get(data.parent_session_id ?? '') }, scope)
  return {
    opening: data,
    segment: data.segment,
    key: data.key,
    isComplete: earlier ? earlier.isComplete : data.segment === 1,
    usage: earlier?.usage ?? { ...NO_USAGE, calls: 0 },
    before: earlier,
  }
}

function checkSegment(
  { id, opening, earlier }: { id: string; opening: SessionOpen; earlier: SessionRecord | undefined },
  { journalIndex, report }: CheckScope,
): void {
  const { segment, base, key } = opening
  // A session that ran out of time is opened again when its run is resumed.
  const isRepeated = earlier?.key === key && journalIndex.wasReopened(key)
  const expected = earlier ? earlier.segment + Number(!isRepeated) : Math.max(segment, 1)
  if (segment !== expected) report('segment', `session ${id} has segment ${segment}, expected ${expected}`)
  if (earlier && !isRepeated && !journalIndex.outcome(earlier.key))
    report('segment', `session ${id} is opened while its last segment is open`)
  if (segment > 1 !== (base !== undefined)) report('segment', `segment ${segment} of session ${id} has a wrong base`)
  if (journalIndex.opening(key)) report('begun_twice', `the session at ${key} is opened twice`)
}

function checkPlacement(
  { id, opening, parent }: { id: string; opening: SessionOpen; parent: SessionRecord | undefined },
  { report }: CheckScope,
): void {
  const { parent_session_id, depth, self_depth, max_depth, path, segment } = opening
  // Levels of an agent that calls itself are bounded by `limits.self_depth`, not by `max_depth`.
  if (depth - self_depth > max_depth) report('depth', `session ${id} has depth ${depth}, the maximum is ${max_depth}`)
  if (path.length !== depth) report('depth', `session ${id} has depth ${depth} but ${path.length} agents above it`)
  if (parent_session_id === null) {
    if (depth !== 0) report('parent', `session ${id} has no parent but depth ${depth}`)
    return
  }
  if (parent && parent.opening.depth + 1 !== depth)
    report('depth', `session ${id} is not one level below its parent ${parent_session_id}`)
  if (!parent && segment === 1) report('parent', `the parent ${parent_session_id} of ${id} is not in this journal`)
}

function checkEnd(event: EventOf<'session:end'>, session: SessionRecord, { report }: CheckScope): void {
  const { key, usage } = event.data
  if (key !== session.key)
    report('segment', `session ${event.session_id} is open at ${session.key} but ended at ${key}`)
  if (!session.isComplete || isSameUsage(usage, session.usage)) return
  const [reported, actual] = [JSON.stringify(usage), JSON.stringify(session.usage)]
  report('session_usage', `session ${event.session_id} reports usage ${reported}, its model requests used ${actual}`)
}

/** The sessions' usage adds up to the usage of the run's model requests. */
function checkTotals(sessions: ReadonlyMap<string, SessionRecord>, { journalIndex, report }: CheckScope): void {
  let reported = { ...NO_USAGE, calls: 0 }
  let actual = { ...NO_USAGE, calls: 0 }
  for (const session of sessions.values()) {
    const end: Event | undefined = journalIndex.outcome(session.key)
    if (!session.isComplete || !isEvent(end, 'session:end')) continue
    reported = addCalls(reported, end.data.usage)
    actual = addCalls(actual, session.usage)
  }
  if (isSameUsage(reported, actual)) return
  report('ledger', `sessions report usage ${JSON.stringify(reported)}, model requests used ${JSON.stringify(actual)}`)
}

type CallUsage = SessionRecord['usage']

function addCalls(a: CallUsage, b: CallUsage): CallUsage {
  return { ...addUsage(a, b), calls: a.calls + b.calls }
}

function isSameUsage(a: CallUsage, b: CallUsage): boolean {
  const fields = ['calls', 'input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const
  return fields.every((field) => a[field] === b[field])
}
