import type { HandoffRule } from './handoff-routing.ts'
import { isUnconditional } from './handoff-rules.ts'
import { synchronisedAgents } from './synchronisation.ts'
import { entryMember, teamMembers } from './team-members.ts'
import type { Team } from './team-schema.ts'
import { ANY_AGENT, PREVIOUS_AGENT, USER } from './team-schema.ts'

/** The possible successions of agents and groups. */
export interface FlowGraph {
  /** Possible successors of each agent and group. */
  next: ReadonlyMap<string, ReadonlySet<string>>
  /** Members after which the work can end: it returns to the user, or `after_work_behavior` applies. */
  exits: ReadonlySet<string>
  /** Members that can start. */
  starts: readonly string[]
}

/** Builds the graph from the rules that can apply. */
export function buildFlowGraph(team: Team, rules: readonly HandoffRule[]): FlowGraph {
  const { agents, groups } = teamMembers(team)
  const everyone = [...agents, ...groups]
  const next = new Map(everyone.map((name) => [name, new Set<string>()]))
  const exits = new Set<string>()
  const unconditional = new Set<string>()
  for (const rule of rules) {
    const sources = ruleSources(rule, everyone)
    // The rules of members are tried after the turn of their group, too.
    const joined = team.groups.filter(({ name, members }) => rule.to !== name && members.includes(rule.from))
    for (const from of [...sources, ...joined.map(({ name }) => name)]) {
      if (rule.to === USER) exits.add(from)
      else if (rule.to !== PREVIOUS_AGENT) next.get(from)?.add(rule.to)
      if (isUnconditional(rule)) unconditional.add(from)
    }
  }
  for (const { name, members } of team.groups) {
    for (const member of members) {
      next.get(name)?.add(member)
      next.get(member)?.add(name)
    }
  }
  for (const name of agents) for (const peer of synchronisedAgents(team, rules, name)) next.get(name)?.add(peer)
  addReturnEdges(next, rules, everyone)
  const fromUser = rules.filter(({ from }) => from === USER).map(({ to }) => to)
  const starts = [entryMember(team), team.supervisor, ...fromUser].filter(
    (name) => name !== undefined && next.has(name),
  )
  const targets = new Set([...starts, ...rules.map(({ to }) => to)])
  const members = new Set(team.groups.flatMap((group) => group.members))
  // A person is asked each time and can end the work.
  for (const { name, kind } of team.agents) if (kind === 'human') exits.add(name)
  for (const name of everyone) {
    // For an agent that works only inside a group, after_work_behavior does not apply: the group continues.
    const canEnd = targets.has(name) || !members.has(name)
    if (canEnd && !unconditional.has(name) && team.after_work_behavior !== 'continue') exits.add(name)
  }
  return { next, exits, starts: starts.filter((name) => name !== undefined) }
}

export function ruleSources({ from, to }: HandoffRule, everyone: readonly string[]): readonly string[] {
  return from === ANY_AGENT ? everyone.filter((name) => name !== to) : everyone.includes(from) ? [from] : []
}

/** Adds edges from a handoff to `previous_agent` to every possible predecessor. */
function addReturnEdges(
  next: Map<string, Set<string>>,
  rules: readonly HandoffRule[],
  everyone: readonly string[],
): void {
  const sources = new Set(
    rules.filter(({ to }) => to === PREVIOUS_AGENT).flatMap((rule) => ruleSources(rule, everyone)),
  )
  for (const name of sources) {
    for (const [from, successors] of next) if (successors.has(name) && from !== name) next.get(name)?.add(from)
  }
}

/** All members reachable from the given ones, themselves included. */
export function reachableFrom(starts: Iterable<string>, next: FlowGraph['next']): Set<string> {
  const seen = new Set<string>()
  const queue = [...starts]
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (seen.has(name)) continue
    seen.add(name)
    queue.push(...(next.get(name) ?? []))
  }
  return seen
}

export function reverseEdges(next: FlowGraph['next']): Map<string, Set<string>> {
  const previous = new Map([...next.keys()].map((name) => [name, new Set<string>()]))
  for (const [from, successors] of next) for (const to of successors) previous.get(to)?.add(from)
  return previous
}

/** Reachable cycles from which no exit can be reached. */
export function findEndlessCycles({ next, exits, starts }: FlowGraph): Set<string>[] {
  const previous = reverseEdges(next)
  const canExit = reachableFrom(exits, previous)
  const trapped = new Set([...reachableFrom(starts, next)].filter((name) => !canExit.has(name)))
  const cycles: Set<string>[] = []
  for (const name of trapped) {
    const cycle = terminalCycle(name, next, previous)
    cycles.push(cycle)
    // Members that lead into the cycle are trapped for the same reason.
    for (const other of reachableFrom(cycle, previous)) trapped.delete(other)
  }
  return cycles
}

/** Follows the graph to a strongly connected component without outgoing edges. */
function terminalCycle(name: string, next: FlowGraph['next'], previous: FlowGraph['next']): Set<string> {
  for (let current = name; ; ) {
    const ahead = reachableFrom([current], next)
    const behind = reachableFrom([current], previous)
    const onward = [...ahead].findLast((other) => !behind.has(other))
    if (onward === undefined) return ahead
    current = onward
  }
}
