import { nearest } from '../../errors.ts'
import type { Team, TeamAgent, TeamGroup } from './definition.ts'
import { ANY_AGENT, PREVIOUS_AGENT, reservedNames, TEAM, USER } from './definition.ts'
import type { Place, TeamProblem } from './problem.ts'
import { error, warning } from './problem.ts'
import { MISSING, UNNAMED } from './shape.ts'

/** Everyone a team has, by the names its conditions and handoffs use. */
export interface Cast {
  agents: string[]
  groups: string[]
}

export function castOf(team: Team): Cast {
  const formed = team.form?.roles.map(({ name }) => name) ?? []
  return { agents: [...team.agents.map(({ name }) => name), ...formed], groups: team.groups.map(({ name }) => name) }
}

/** Who begins when nobody else is asked for. */
export function entryOf(team: Team): string | undefined {
  return team.entry ?? castOf(team).agents[0]
}

/** Whether the parts of a team fit together: each name is there once, and each one that is mentioned is there. */
export function partProblems(team: Team, roster?: readonly string[]): TeamProblem[] {
  const { agents, groups } = castOf(team)
  const everyone = [...agents, ...groups]
  if (agents.length === 0) {
    return [error(['agents'], 'the team is empty', 'give it at least one agent: agents: [{ name: writer, role: … }]')]
  }
  return [
    ...doubleNames(team),
    ...team.agents.flatMap((agent, index) => agentProblems(agent, ['agents', index], roster)),
    ...team.groups.flatMap((group, index) => [
      ...groupProblems(group, ['groups', index], { agents, everyone }),
      ...voiceProblems(team, group, ['groups', index, 'members']),
    ]),
    ...mentioned(['entry'], team.entry, everyone),
    ...mentioned(['supervisor'], team.supervisor, [...agents, USER]),
    ...team.handoffs.flatMap(({ from_agent: from, to_agent: to }, index) => [
      ...mentioned(['handoffs', index, 'from_agent'], from, [...everyone, ANY_AGENT, USER]),
      ...mentioned(['handoffs', index, 'to_agent'], to, [...everyone, PREVIOUS_AGENT, USER]),
      ...(from === to && from !== MISSING
        ? [error(['handoffs', index, 'to_agent'], `'${to}' cannot hand to itself`, selfHint(to, everyone))]
        : []),
    ]),
  ]
}

function selfHint(name: string, everyone: readonly string[]): string {
  const others = everyone.filter((each) => each !== name)
  return `after_work_behavior: continue keeps an agent at work; others: ${[...others, USER].join(', ')}`
}

function doubleNames(team: Team): TeamProblem[] {
  const places: [string, Place][] = [
    ...team.agents.map(({ name }, index): [string, Place] => [name, ['agents', index, 'name']]),
    ...(team.form?.roles ?? []).map(({ name }, index): [string, Place] => [name, ['form', 'roles', index, 'name']]),
    ...team.groups.map(({ name }, index): [string, Place] => [name, ['groups', index, 'name']]),
  ]
  const seen = new Set<string>()
  return places.flatMap(([name, place]) => {
    if ((reservedNames as readonly string[]).includes(name)) {
      const user = name === TEAM ? 'summaries of the conversation' : 'handoffs'
      return [error(place, `nobody can be called '${name}': ${user} use this name`)]
    }
    if (seen.has(name))
      return [error(place, `'${name}' is there already`, 'each agent and group needs a name of its own')]
    seen.add(name)
    return []
  })
}

function mentioned(place: Place, name: string | undefined, known: readonly string[]): TeamProblem[] {
  if (name === undefined || name === MISSING || known.includes(name)) return []
  if (known.some((each) => each.startsWith(UNNAMED))) return []
  const [first, ...others] = nearest(name, known)
  const list = [first, ...others].slice(0, 8).join(', ')
  return [error(place, `no agent or group '${name}'; known: ${list}`, `did you mean '${first}'?`)]
}

function agentProblems(agent: TeamAgent, place: Place, roster: readonly string[] | undefined): TeamProblem[] {
  const problems: TeamProblem[] = []
  if (agent.uses !== undefined && agent.team !== undefined) {
    problems.push(
      error([...place, 'team'], "an agent is either one of the roster ('uses') or a team ('team'), not both"),
    )
  }
  if (agent.uses !== undefined && roster && !roster.includes(agent.uses)) {
    const [first, ...others] = nearest(agent.uses, roster)
    const known = first === undefined ? 'the roster is empty' : `known: ${[first, ...others].slice(0, 8).join(', ')}`
    const hint = first === undefined ? undefined : `did you mean '${first}'?`
    problems.push(error([...place, 'uses'], `no agent '${agent.uses}' in the roster; ${known}`, hint))
  }
  const unused = unusedKeys(agent)
  for (const key of unused.keys)
    problems.push({ ...warning([...place, key], `'${key}' means nothing for ${unused.why}`), key: true })
  return problems
}

const OWN = ['instructions', 'model', 'temperature', 'tools', 'exclude_tools'] as const

function unusedKeys(agent: TeamAgent): { keys: string[]; why: string } {
  const written = OWN.filter((key) => agent[key] !== undefined)
  if (agent.kind === 'human') {
    const also = (['uses', 'team'] as const).filter((key) => agent[key] !== undefined)
    return { keys: [...written, ...also], why: 'a human agent' }
  }
  return agent.team === undefined ? { keys: [], why: '' } : { keys: [...written], why: 'a team' }
}

type Known = { agents: readonly string[]; everyone: readonly string[] }

function groupProblems(group: TeamGroup, place: Place, { agents, everyone }: Known): TeamProblem[] {
  const problems = group.members.flatMap((member, index) => {
    const at = [...place, 'members', index]
    if (group.members.indexOf(member) < index) return [warning(at, `'${member}' is a member already`)]
    return mentioned(at, member, agents)
  })
  problems.push(...mentioned([...place, 'then'], group.then, [...everyone, PREVIOUS_AGENT, USER]))
  if (group.then === group.name) problems.push(error([...place, 'then'], `'${group.name}' cannot hand to itself`))
  for (const member of Object.keys(group.weights ?? {})) {
    problems.push(...mentioned([...place, 'weights', member], member, group.members))
  }
  if (group.kind === 'consensus') return problems
  const idle = (['synthesis', 'threshold', 'weights'] as const).filter((key) => group[key] !== undefined)
  return [
    ...problems,
    ...idle.map((key) => ({
      ...warning(
        [...place, key],
        `'${key}' means nothing for a parallel group`,
        'kind: consensus makes one answer of all',
      ),
      key: true as const,
    })),
  ]
}

/** Those who are to agree are asked for their answer alone: there is nobody who could answer for a person or a team. */
function voiceProblems(team: Team, group: TeamGroup, place: Place): TeamProblem[] {
  if (group.kind !== 'consensus') return []
  return group.members.flatMap((member, index) => {
    const entry = team.agents.find(({ name }) => name === member)
    const at = [...place, index]
    const other = entry?.kind === 'human' ? 'a person' : entry?.team === undefined ? undefined : 'a team'
    const hint = 'kind: parallel lets everybody work, and an agent can make one of their answers'
    if (other) return [error(at, `a consensus group has agents only; '${member}' is ${other}`, hint)]
    const outputs = Object.keys(entry?.outputs ?? {})
    if (outputs.length === 0 || worksElsewhere(team, member)) return []
    const unset = `'${member}' sets no variables in a consensus group: ${outputs.join(', ')}`
    return [warning(at, unset, 'kind: parallel keeps what each member sets; or let the one that comes next set it')]
  })
}

function worksElsewhere(team: Team, name: string): boolean {
  return (
    entryOf(team) === name ||
    team.handoffs.some(({ to_agent }) => to_agent === name) ||
    team.groups.some(({ kind, members, then }) => then === name || (kind === 'parallel' && members.includes(name)))
  )
}
