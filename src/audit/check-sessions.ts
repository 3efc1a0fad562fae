import type { Event, EventOf, SessionOpen } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Usage } from '../kernel/model.ts'
import { addUsage, NO_USAGE } from '../kernel/model.ts'
import type { CheckScope, JournalCheck } from './finding.ts'

/*
 * Sessions: one segment at a time, everything of a session inside its segments, and usage that is the sum of its calls.
 */

interface SeenSession {
  open: SessionOpen
  segment: number
  /** The key of the newest segment. */
  key: string
  /** False when its first segment lies in another run, whose calls this journal does not show. */
  whole: boolean
  usage: Usage & { calls: number }
}

export function checkSessions(): JournalCheck {
  const sessions = new Map<string, SeenSession>()
  const children = new Map<string, number>()
  let breadth = Number.POSITIVE_INFINITY
  return (event, before) => {
    if (isEvent(event, 'run:start') || isEvent(event, 'run:reopen')) breadth = event.data.limits.breadth
    if (isEvent(event, 'run:end') && event.data.status === 'completed') checkTotals(sessions, before)
    const id = event.session_id
    if (id === undefined) return
    if (isEvent(event, 'session:open')) {
      const seen = trackOpening(event, sessions, before)
      sessions.set(id, seen)
      const parent = event.data.parent_session_id
      if (parent === null || event.data.segment > 1) return
      const count = (children.get(parent) ?? 0) + 1
      children.set(parent, count)
      if (count > breadth) before.report('limit', `${parent} has ${count} sub-sessions, ${breadth} are allowed`)
      return
    }
    const seen = sessions.get(id)
    if (!seen || before.journalIndex.outcome(seen.key)) {
      before.report('session_closed', `${event.type} of ${id}, which is not open`)
    }
    if (!seen) return
    if (isEvent(event, 'model:end') || isEvent(event, 'model:error')) {
      seen.usage = { ...addUsage(seen.usage, event.data.usage), calls: seen.usage.calls + 1 }
    }
    if (isEvent(event, 'session:end')) checkEnd(event, seen, before)
  }
}

function trackOpening(
  event: EventOf<'session:open'>,
  sessions: Map<string, SeenSession>,
  before: CheckScope,
): SeenSession {
  const { data } = event
  const id = event.session_id ?? ''
  const earlier = sessions.get(id)
  checkSegment(id, data, earlier, before)
  checkPlacement(id, data, sessions, before)
  return {
    open: data,
    segment: data.segment,
    key: data.key,
    whole: earlier ? earlier.whole : data.segment === 1,
    usage: earlier?.usage ?? { ...NO_USAGE, calls: 0 },
  }
}

function checkSegment(
  id: string,
  open: SessionOpen,
  earlier: SeenSession | undefined,
  { journalIndex, report }: CheckScope,
): void {
  const expected = earlier ? earlier.segment + 1 : Math.max(open.segment, 1)
  if (open.segment !== expected) report('segment', `segment ${open.segment} of ${id} where ${expected} belongs`)
  if (earlier && !journalIndex.outcome(earlier.key))
    report('segment', `${id} is opened while its last segment is at work`)
  if (open.segment > 1 !== (open.base !== undefined))
    report('segment', `segment ${open.segment} of ${id} has a wrong base`)
  if (journalIndex.opening(open.key)) report('begun_twice', `the session at ${open.key} is opened twice`)
}

function checkPlacement(
  id: string,
  open: SessionOpen,
  sessions: Map<string, SeenSession>,
  { report }: CheckScope,
): void {
  const { parent_session_id: parent, depth, max_depth, path, segment } = open
  if (depth > max_depth) report('depth', `${id} is at depth ${depth} of ${max_depth}`)
  if (path.length !== depth) report('depth', `${id} is at depth ${depth} and has ${path.length} agents above it`)
  if (parent === null) {
    if (depth !== 0) report('parent', `${id} has no parent and depth ${depth}`)
    return
  }
  const above = sessions.get(parent)
  if (above && above.open.depth + 1 !== depth) report('depth', `${id} is not one level below ${parent}`)
  if (!above && segment === 1) report('parent', `the parent ${parent} of ${id} is not in this journal`)
}

function checkEnd(event: EventOf<'session:end'>, seen: SeenSession, { report }: CheckScope): void {
  const { key, usage } = event.data
  if (key !== seen.key) report('segment', `${event.session_id} ended at ${key} and is open at ${seen.key}`)
  if (!seen.whole || sameUsage(usage, seen.usage)) return
  report('session_usage', `${event.session_id} says ${JSON.stringify(usage)}, its calls ${JSON.stringify(seen.usage)}`)
}

/** What the sessions say they used is what the run's calls used. */
function checkTotals(sessions: ReadonlyMap<string, SeenSession>, { journalIndex, report }: CheckScope): void {
  let total = { ...NO_USAGE, calls: 0 }
  let made = { ...NO_USAGE, calls: 0 }
  for (const seen of sessions.values()) {
    const end: Event | undefined = journalIndex.outcome(seen.key)
    if (!seen.whole || !isEvent(end, 'session:end')) continue
    total = sum(total, end.data.usage)
    made = sum(made, seen.usage)
  }
  if (!sameUsage(total, made)) report('ledger', `sessions say ${JSON.stringify(total)}, calls ${JSON.stringify(made)}`)
}

function sum(a: Usage & { calls: number }, b: Usage & { calls: number }): Usage & { calls: number } {
  return { ...addUsage(a, b), calls: a.calls + b.calls }
}

function sameUsage(a: Usage & { calls: number }, b: Usage & { calls: number }): boolean {
  const fields = ['calls', 'input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const
  return fields.every((field) => a[field] === b[field])
}
