import { nearestNames } from '../../errors.ts'
import { MISSING_NAME, UNNAMED_PREFIX } from './parse-team.ts'
import type { FieldPath, TeamProblem } from './team-problem.ts'
import { teamError, teamWarning } from './team-problem.ts'
import type { Team, TeamAgent, TeamGroup } from './team-schema.ts'
import { ANY_AGENT, PREVIOUS_AGENT, reservedNames, TEAM, USER } from './team-schema.ts'

/** Everyone a team has, by the names its conditions and handoffs use. */
export interface TeamMembers {
  agents: string[]
  groups: string[]
}

export function teamMembers(team: Team): TeamMembers {
  const formed = team.form?.roles.map(({ name }) => name) ?? []
  return { agents: [...team.agents.map(({ name }) => name), ...formed], groups: team.groups.map(({ name }) => name) }
}

/** Who begins when nobody else is asked for. */
export function entryMember(team: Team): string | undefined {
  return team.entry ?? teamMembers(team).agents[0]
}

/** Whether the parts of a team fit together: each name is there once, and each one that is mentioned is there. */
export function memberProblems(team: Team, roster?: readonly string[]): TeamProblem[] {
  const { agents, groups } = teamMembers(team)
  const everyone = [...agents, ...groups]
  if (agents.length === 0) {
    return [
      teamError(['agents'], 'the team is empty', 'give it at least one agent: agents: [{ name: writer, role: … }]'),
    ]
  }
  return [
    ...duplicateNames(team),
    ...team.agents.flatMap((agent, index) => agentProblems(agent, ['agents', index], roster)),
    ...team.groups.flatMap((group, index) => [
      ...groupProblems(group, ['groups', index], { agents, everyone }),
      ...consensusMemberProblems(team, group, ['groups', index, 'members']),
    ]),
    ...unknownReference(['entry'], team.entry, everyone),
    ...unknownReference(['supervisor'], team.supervisor, [...agents, USER]),
    ...team.handoffs.flatMap(({ from_agent: from, to_agent: to }, index) => [
      ...unknownReference(['handoffs', index, 'from_agent'], from, [...everyone, ANY_AGENT, USER]),
      ...unknownReference(['handoffs', index, 'to_agent'], to, [...everyone, PREVIOUS_AGENT, USER]),
      ...(from === to && from !== MISSING_NAME
        ? [teamError(['handoffs', index, 'to_agent'], `'${to}' cannot hand to itself`, selfHint(to, everyone))]
        : []),
    ]),
  ]
}

function selfHint(name: string, everyone: readonly string[]): string {
  const others = everyone.filter((each) => each !== name)
  return `after_work_behavior: continue keeps an agent at work; others: ${[...others, USER].join(', ')}`
}

function duplicateNames(team: Team): TeamProblem[] {
  const places: [string, FieldPath][] = [
    ...team.agents.map(({ name }, index): [string, FieldPath] => [name, ['agents', index, 'name']]),
    ...(team.form?.roles ?? []).map(({ name }, index): [string, FieldPath] => [name, ['form', 'roles', index, 'name']]),
    ...team.groups.map(({ name }, index): [string, FieldPath] => [name, ['groups', index, 'name']]),
  ]
  const seen = new Set<string>()
  return places.flatMap(([name, field]) => {
    if ((reservedNames as readonly string[]).includes(name)) {
      const user = name === TEAM ? 'summaries of the conversation' : 'handoffs'
      return [teamError(field, `nobody can be called '${name}': ${user} use this name`)]
    }
    if (seen.has(name))
      return [teamError(field, `'${name}' is there already`, 'each agent and group needs a name of its own')]
    seen.add(name)
    return []
  })
}

function unknownReference(field: FieldPath, name: string | undefined, known: readonly string[]): TeamProblem[] {
  if (name === undefined || name === MISSING_NAME || known.includes(name)) return []
  if (known.some((each) => each.startsWith(UNNAMED_PREFIX))) return []
  const [first, ...others] = nearestNames(name, known)
  const list = [first, ...others].slice(0, 8).join(', ')
  return [teamError(field, `no agent or group '${name}'; known: ${list}`, `did you mean '${first}'?`)]
}

function agentProblems(agent: TeamAgent, field: FieldPath, roster: readonly string[] | undefined): TeamProblem[] {
  const problems: TeamProblem[] = []
  if (agent.uses !== undefined && agent.team !== undefined) {
    problems.push(
      teamError([...field, 'team'], "an agent is either one of the roster ('uses') or a team ('team'), not both"),
    )
  }
  if (agent.uses !== undefined && roster && !roster.includes(agent.uses)) {
    const [first, ...others] = nearestNames(agent.uses, roster)
    const known = first === undefined ? 'the roster is empty' : `known: ${[first, ...others].slice(0, 8).join(', ')}`
    const hint = first === undefined ? undefined : `did you mean '${first}'?`
    problems.push(teamError([...field, 'uses'], `no agent '${agent.uses}' in the roster; ${known}`, hint))
  }
  const unused = unusedKeys(agent)
  for (const key of unused.keys)
    problems.push({ ...teamWarning([...field, key], `'${key}' means nothing for ${unused.why}`), key: true })
  return problems
}

const MODEL_AGENT_KEYS = ['instructions', 'model', 'temperature', 'tools', 'exclude_tools'] as const

function unusedKeys(agent: TeamAgent): { keys: string[]; why: string } {
  const written = MODEL_AGENT_KEYS.filter((key) => agent[key] !== undefined)
  if (agent.kind === 'human') {
    const also = (['uses', 'team'] as const).filter((key) => agent[key] !== undefined)
    return { keys: [...written, ...also], why: 'a human agent' }
  }
  return agent.team === undefined ? { keys: [], why: '' } : { keys: [...written], why: 'a team' }
}

type KnownMembers = { agents: readonly string[]; everyone: readonly string[] }

function groupProblems(group: TeamGroup, field: FieldPath, { agents, everyone }: KnownMembers): TeamProblem[] {
  const problems = group.members.flatMap((member, index) => {
    const at = [...field, 'members', index]
    if (group.members.indexOf(member) < index) return [teamWarning(at, `'${member}' is a member already`)]
    return unknownReference(at, member, agents)
  })
  problems.push(...unknownReference([...field, 'then'], group.then, [...everyone, PREVIOUS_AGENT, USER]))
  if (group.then === group.name) problems.push(teamError([...field, 'then'], `'${group.name}' cannot hand to itself`))
  for (const member of Object.keys(group.weights ?? {})) {
    problems.push(...unknownReference([...field, 'weights', member], member, group.members))
  }
  if (group.kind === 'consensus') return problems
  const idle = (['synthesis', 'threshold', 'weights'] as const).filter((key) => group[key] !== undefined)
  return [
    ...problems,
    ...idle.map((key) => ({
      ...teamWarning(
        [...field, key],
        `'${key}' means nothing for a parallel group`,
        'kind: consensus makes one answer of all',
      ),
      key: true as const,
    })),
  ]
}

/** Those who are to agree are asked for their answer alone: there is nobody who could answer for a person or a team. */
function consensusMemberProblems(team: Team, group: TeamGroup, field: FieldPath): TeamProblem[] {
  if (group.kind !== 'consensus') return []
  return group.members.flatMap((member, index) => {
    const entry = team.agents.find(({ name }) => name === member)
    const at = [...field, index]
    const other = entry?.kind === 'human' ? 'a person' : entry?.team === undefined ? undefined : 'a team'
    const hint = 'kind: parallel lets everybody work, and an agent can make one of their answers'
    if (other) return [teamError(at, `a consensus group has agents only; '${member}' is ${other}`, hint)]
    const outputs = Object.keys(entry?.outputs ?? {})
    if (outputs.length === 0 || isUsedElsewhere(team, member)) return []
    const unset = `'${member}' sets no variables in a consensus group: ${outputs.join(', ')}`
    return [teamWarning(at, unset, 'kind: parallel keeps what each member sets; or let the one that comes next set it')]
  })
}

function isUsedElsewhere(team: Team, name: string): boolean {
  return (
    entryMember(team) === name ||
    team.handoffs.some(({ to_agent }) => to_agent === name) ||
    team.groups.some(({ kind, members, then }) => then === name || (kind === 'parallel' && members.includes(name)))
  )
}
