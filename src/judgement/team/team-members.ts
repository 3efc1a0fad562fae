import { nearestNames } from '../../errors.ts'
import { MISSING_NAME, UNNAMED_PREFIX } from './parse-team.ts'
import type { FieldPath, TeamProblem } from './team-problem.ts'
import { teamError, teamWarning } from './team-problem.ts'
import type { Team, TeamAgent, TeamGroup } from './team-schema.ts'
import { ANY_AGENT, PREVIOUS_AGENT, reservedNames, TEAM, USER } from './team-schema.ts'

/** The names of the agents and groups of a team. */
export interface TeamMembers {
  agents: string[]
  groups: string[]
}

export function teamMembers(team: Team): TeamMembers {
  const roles = team.form?.roles.map(({ name }) => name) ?? []
  return { agents: [...team.agents.map(({ name }) => name), ...roles], groups: team.groups.map(({ name }) => name) }
}

/** The agent or group that starts. */
export function entryMember(team: Team): string | undefined {
  return team.entry ?? teamMembers(team).agents[0]
}

/** Checks that names are unique and that every referenced agent and group exists. */
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
        ? [
            teamError(
              ['handoffs', index, 'to_agent'],
              `'${to}' cannot hand off to itself`,
              selfHandoffHint(to, everyone),
            ),
          ]
        : []),
    ]),
  ]
}

function selfHandoffHint(name: string, everyone: readonly string[]): string {
  const others = everyone.filter((other) => other !== name)
  return `use after_work_behavior: continue to keep an agent working; others: ${[...others, USER].join(', ')}`
}

/** All agents, roles and groups with the fields of their names. */
export function memberNameFields(team: Team): [name: string, field: FieldPath][] {
  return [
    ...team.agents.map(({ name }, index): [string, FieldPath] => [name, ['agents', index, 'name']]),
    ...(team.form?.roles ?? []).map(({ name }, index): [string, FieldPath] => [name, ['form', 'roles', index, 'name']]),
    ...team.groups.map(({ name }, index): [string, FieldPath] => [name, ['groups', index, 'name']]),
  ]
}

function duplicateNames(team: Team): TeamProblem[] {
  const seen = new Set<string>()
  return memberNameFields(team).flatMap(([name, field]) => {
    if ((reservedNames as readonly string[]).includes(name)) {
      const purpose = name === TEAM ? 'summaries of the conversation' : 'handoffs'
      return [teamError(field, `the name '${name}' is reserved for ${purpose}`)]
    }
    if (seen.has(name))
      return [teamError(field, `the name '${name}' is already used`, 'give each agent and group a unique name')]
    seen.add(name)
    return []
  })
}

function unknownReference(field: FieldPath, name: string | undefined, known: readonly string[]): TeamProblem[] {
  if (name === undefined || name === MISSING_NAME || known.includes(name)) return []
  if (known.some((candidate) => candidate.startsWith(UNNAMED_PREFIX))) return []
  const [first, ...others] = nearestNames(name, known)
  const list = [first, ...others].slice(0, 8).join(', ')
  return [teamError(field, `no agent or group '${name}'; known: ${list}`, `did you mean '${first}'?`)]
}

function agentProblems(agent: TeamAgent, field: FieldPath, roster: readonly string[] | undefined): TeamProblem[] {
  const problems: TeamProblem[] = []
  if (agent.uses !== undefined && agent.team !== undefined) {
    problems.push(teamError([...field, 'team'], "an agent cannot have both 'uses' and 'team'"))
  }
  if (agent.uses !== undefined && roster && !roster.includes(agent.uses)) {
    const [first, ...others] = nearestNames(agent.uses, roster)
    const known = first === undefined ? 'the roster is empty' : `known: ${[first, ...others].slice(0, 8).join(', ')}`
    const hint = first === undefined ? undefined : `did you mean '${first}'?`
    problems.push(teamError([...field, 'uses'], `no agent '${agent.uses}' in the roster; ${known}`, hint))
  }
  const unused = unusedKeys(agent)
  for (const key of unused.keys)
    problems.push({ ...teamWarning([...field, key], `'${key}' has no effect for ${unused.kind}`), key: true })
  return problems
}

const MODEL_AGENT_KEYS = ['instructions', 'model', 'temperature', 'tools', 'exclude_tools'] as const

function unusedKeys(agent: TeamAgent): { keys: string[]; kind: string } {
  const modelKeys = MODEL_AGENT_KEYS.filter((key) => agent[key] !== undefined)
  if (agent.kind === 'human') {
    const otherKeys = (['uses', 'team'] as const).filter((key) => agent[key] !== undefined)
    return { keys: [...modelKeys, ...otherKeys], kind: 'a human agent' }
  }
  return agent.team === undefined ? { keys: [], kind: '' } : { keys: [...modelKeys], kind: 'a team' }
}

type KnownMembers = { agents: readonly string[]; everyone: readonly string[] }

function groupProblems(group: TeamGroup, field: FieldPath, { agents, everyone }: KnownMembers): TeamProblem[] {
  const problems = group.members.flatMap((member, index) => {
    const memberField = [...field, 'members', index]
    if (group.members.indexOf(member) < index) return [teamWarning(memberField, `'${member}' is listed more than once`)]
    return unknownReference(memberField, member, agents)
  })
  problems.push(...unknownReference([...field, 'then'], group.then, [...everyone, PREVIOUS_AGENT, USER]))
  if (group.then === group.name)
    problems.push(teamError([...field, 'then'], `'${group.name}' cannot hand off to itself`))
  for (const member of Object.keys(group.weights ?? {})) {
    problems.push(...unknownReference([...field, 'weights', member], member, group.members))
  }
  if (group.kind === 'consensus') return problems
  const unused = (['synthesis', 'threshold', 'weights'] as const).filter((key) => group[key] !== undefined)
  return [
    ...problems,
    ...unused.map((key) => ({
      ...teamWarning(
        [...field, key],
        `'${key}' has no effect for a parallel group`,
        'use kind: consensus to combine the answers',
      ),
      key: true as const,
    })),
  ]
}

/** Each member of a consensus group answers in a single session; a person or a sub-team cannot. */
function consensusMemberProblems(team: Team, group: TeamGroup, field: FieldPath): TeamProblem[] {
  if (group.kind !== 'consensus') return []
  return group.members.flatMap((member, index) => {
    const entry = team.agents.find(({ name }) => name === member)
    const memberField = [...field, index]
    const kind = entry?.kind === 'human' ? 'a person' : entry?.team === undefined ? undefined : 'a team'
    const hint = 'use kind: parallel, and let an agent combine the answers'
    if (kind) return [teamError(memberField, `a consensus group can have agents only; '${member}' is ${kind}`, hint)]
    const outputs = Object.keys(entry?.outputs ?? {})
    if (outputs.length === 0 || isUsedElsewhere(team, member)) return []
    const message = `'${member}' sets no variables in a consensus group: ${outputs.join(', ')}`
    return [teamWarning(memberField, message, 'use kind: parallel, or let the next agent set them')]
  })
}

/** Whether the agent also works outside a consensus group. */
export function isUsedElsewhere(team: Team, name: string): boolean {
  return (
    entryMember(team) === name ||
    team.handoffs.some(({ to_agent }) => to_agent === name) ||
    team.groups.some(({ kind, members, then }) => then === name || (kind === 'parallel' && members.includes(name)))
  )
}
