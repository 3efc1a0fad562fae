import type { HandoffRule } from './handoff-routing.ts'
import { isUnconditional } from './handoff-rules.ts'
import { entryMember, teamMembers } from './team-members.ts'
import type { Team } from './team-schema.ts'
import { ANY_AGENT, PREVIOUS_AGENT, USER } from './team-schema.ts'

/** Who can come after whom, as far as rules and groups decide. */
export interface FlowGraph {
  /** Agents and groups with those who may come next. */
  next: ReadonlyMap<string, ReadonlySet<string>>
  /** Those after whom the work can end: it goes back to the user, or after-work applies. */
  exits: ReadonlySet<string>
  /** Where work comes in. */
  starts: readonly string[]
}

/** `rules` are those that can be taken. */
export function buildFlowGraph(team: Team, rules: readonly HandoffRule[]): FlowGraph {
  const { agents, groups } = teamMembers(team)
  const everyone = [...agents, ...groups]
  const next = new Map(everyone.map((name) => [name, new Set<string>()]))
  const exits = new Set<string>()
  const bound = new Set<string>()
  for (const rule of rules) {
    for (const from of ruleSources(rule, everyone)) {
      if (rule.to === USER) exits.add(from)
      else if (rule.to !== PREVIOUS_AGENT) next.get(from)?.add(rule.to)
      if (isUnconditional(rule)) bound.add(from)
    }
  }
  for (const { name, members } of team.groups) {
    for (const member of members) {
      next.get(name)?.add(member)
      next.get(member)?.add(name)
    }
  }
  addReturnEdges(next, rules, everyone)
  const first = rules.filter(({ from }) => from === USER).map(({ to }) => to)
  const starts = [entryMember(team), team.supervisor, ...first].filter((name) => name !== undefined && next.has(name))
  const called = new Set([...starts, ...rules.map(({ to }) => to)])
  const members = new Set(team.groups.flatMap((group) => group.members))
  // A person is asked each time and can end it.
  for (const { name, kind } of team.agents) if (kind === 'human') exits.add(name)
  for (const name of everyone) {
    // Who works only as part of a group has no after-work of its own: the group goes on.
    const ends = called.has(name) || !members.has(name)
    if (ends && !bound.has(name) && team.after_work_behavior !== 'continue') exits.add(name)
  }
  return { next, exits, starts: starts.filter((name) => name !== undefined) }
}

export function ruleSources({ from, to }: HandoffRule, everyone: readonly string[]): readonly string[] {
  return from === ANY_AGENT ? everyone.filter((name) => name !== to) : everyone.includes(from) ? [from] : []
}

/** A handoff to `previous_agent` leads back to whoever can come before. */
function addReturnEdges(
  next: Map<string, Set<string>>,
  rules: readonly HandoffRule[],
  everyone: readonly string[],
): void {
  const back = new Set(rules.filter(({ to }) => to === PREVIOUS_AGENT).flatMap((rule) => ruleSources(rule, everyone)))
  for (const name of back) {
    for (const [before, after] of next) if (after.has(name) && before !== name) next.get(name)?.add(before)
  }
}

/** Everyone who can be reached from these, themselves included. */
export function reachableFrom(from: Iterable<string>, next: FlowGraph['next']): Set<string> {
  const seen = new Set<string>()
  const waiting = [...from]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (seen.has(name)) continue
    seen.add(name)
    waiting.push(...(next.get(name) ?? []))
  }
  return seen
}

/** Who can come before whom. */
export function reverseEdges(next: FlowGraph['next']): Map<string, Set<string>> {
  const before = new Map([...next.keys()].map((name) => [name, new Set<string>()]))
  for (const [from, after] of next) for (const to of after) before.get(to)?.add(from)
  return before
}

/** Rings that can be entered, and in which work goes round without ever ending or leaving. */
export function findEndlessCycles({ next, exits, starts }: FlowGraph): Set<string>[] {
  const before = reverseEdges(next)
  const free = reachableFrom(exits, before)
  const left = new Set([...reachableFrom(starts, next)].filter((name) => !free.has(name)))
  const found: Set<string>[] = []
  for (const name of left) {
    const ring = terminalCycle(name, next, before)
    found.push(ring)
    // Whoever leads into it is trapped for the same reason.
    for (const other of reachableFrom(ring, before)) left.delete(other)
  }
  return found
}

/** Goes on until everyone ahead can come back. */
function terminalCycle(name: string, next: FlowGraph['next'], before: FlowGraph['next']): Set<string> {
  for (let at = name; ; ) {
    const ahead = reachableFrom([at], next)
    const back = reachableFrom([at], before)
    const onward = [...ahead].findLast((other) => !back.has(other))
    if (onward === undefined) return ahead
    at = onward
  }
}
