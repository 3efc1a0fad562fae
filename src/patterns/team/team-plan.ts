import { unknownNameError } from '../../errors.ts'
import type { ConditionLeaf, VariableValue } from '../../judgement/condition/condition-tree.ts'
import { conditionLeaves } from '../../judgement/condition/condition-tree.ts'
import { evaluateCondition } from '../../judgement/condition/evaluate-condition.ts'
import type { VariableType } from '../../judgement/condition/system-variables.ts'
import type { HandoffRule } from '../../judgement/team/handoff-routing.ts'
import { createRuleLookup } from '../../judgement/team/handoff-routing.ts'
import { parseHandoffRules } from '../../judgement/team/handoff-rules.ts'
import { settableVariables } from '../../judgement/team/settable-variables.ts'
import { teamMembers } from '../../judgement/team/team-members.ts'
import type { Team, TeamAgent, TeamGroup } from '../../judgement/team/team-schema.ts'
import { systemVariableTypes, variableTypes } from '../../judgement/team/team-variables.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Roster } from '../../kernel/roster.ts'
import type { MemberProfile } from './prompts.ts'
import { formatTurnPrompt, nameWithRole, teamPreamble } from './prompts.ts'

type Outputs = Readonly<Record<string, VariableType>>

/** Who stands behind a name of the team. */
export type TeamMember =
  | { kind: 'agent'; name: string; agent: Agent; profile: MemberProfile }
  | { kind: 'human'; name: string; role: string | undefined }
  | {
      kind: 'team'
      name: string
      team: Team
      outputs: Outputs
      acceptedVariables: ReadonlyMap<string, VariableType | undefined>
    }
  | { kind: 'group'; name: string; group: TeamGroup }

/** What a team is, made ready once: nothing in it changes while the team works. */
export interface TeamPlan {
  team: Team
  preamble: string
  /** Names of agents and groups. */
  names: readonly string[]
  /** Types of the variables that configuration and agents set. */
  variableTypes: ReadonlyMap<string, VariableType>
  systemVariables: ReadonlyMap<string, VariableType>
  /** Nobody has a model of its own. */
  sharesOneModel: boolean
  member(name: string): TeamMember
  rules(from: string, failed?: boolean): readonly HandoffRule[]
  /** The sentences that the rules from here leave to somebody's judgement, with the values of now put in. */
  semanticConditions(from: string, variables: Readonly<Record<string, VariableValue>>): readonly string[]
  turnPrompt(part: MemberProfile, leaves: readonly string[]): string
}

/** An agent found in the roster for a place that the team left open. */
export interface FilledRole {
  name: string
  role: string
  uses: string
  expertise: string[]
  /** The words, without their endings, by which it was found. */
  by?: string[]
}

export function createTeamPlan(team: Team, roster: Roster, formed: readonly FilledRole[]): TeamPlan {
  const preamble = teamPreamble(
    team,
    formed.map(({ name, role }) => nameWithRole(name, role)),
  )
  const { agents, groups } = teamMembers(team)
  const rules = createRuleLookup(parseHandoffRules(team).rules)
  const entries = new Map<string, TeamAgent>([
    ...team.agents.map((agent) => [agent.name, agent] as const),
    ...formed.map((place) => [place.name, { ...place, kind: 'agent' as const }] as const),
  ])
  const groupsByName = new Map(team.groups.map((group) => [group.name, group]))
  const roleOf = (name: string) => nameWithRole(name, entries.get(name)?.role ?? entries.get(name)?.description)
  const sentences = memoize((from) =>
    rules(from).flatMap(({ condition }) => conditionLeaves(condition).filter(isSemantic)),
  )
  const fixed = memoize((from) => [...new Set(sentences(from).map(({ text }) => text))])
  const tails = new WeakMap<MemberProfile, { leaves: readonly string[]; text: string }>()
  const made = (name: string): TeamMember => {
    const group = groupsByName.get(name)
    if (group) return { kind: 'group', name, group }
    const entry = entries.get(name)
    if (!entry) throw unknownNameError('unknown_agent', { kind: 'agent or group', name, known: [...agents, ...groups] })
    const targets = [...new Set(rules(name).map(({ to }) => to))].map(roleOf)
    return toTeamMember(entry, { roster, preamble, targets })
  }
  return {
    team,
    preamble,
    names: [...agents, ...groups],
    variableTypes: variableTypes(team),
    systemVariables: systemVariableTypes(team),
    sharesOneModel:
      formed.length === 0 && team.agents.every(({ model, uses }) => model === undefined && uses === undefined),
    member: memoize(made),
    rules,
    semanticConditions(from, variables) {
      if (sentences(from).every((leaf) => leaf.variables.length === 0)) return fixed(from)
      const open = sentences(from).flatMap(
        (leaf) => evaluateCondition(leaf, { variables, verdict: () => undefined }).open,
      )
      return [...new Set(open)]
    },
    turnPrompt(part, leaves) {
      const known = tails.get(part)
      if (known?.leaves === leaves) return known.text
      const text = formatTurnPrompt(part, leaves)
      tails.set(part, { leaves, text })
      return text
    },
  }
}

function memoize<T>(make: (name: string) => T): (name: string) => T {
  const made = new Map<string, T>()
  return (name) => {
    const known = made.get(name)
    if (known !== undefined) return known
    const value = make(name)
    made.set(name, value)
    return value
  }
}

type SemanticCondition = Extract<ConditionLeaf, { kind: 'semantic' }>

function isSemantic(leaf: ConditionLeaf): leaf is SemanticCondition {
  return leaf.kind === 'semantic'
}

interface MemberContext {
  roster: Roster
  preamble: string
  targets: readonly string[]
}

function toTeamMember(entry: TeamAgent, { roster, preamble, targets }: MemberContext): TeamMember {
  const { name, role } = entry
  if (entry.kind === 'human') return { kind: 'human', name, role }
  if (typeof entry.team === 'object') {
    return {
      kind: 'team',
      name,
      team: entry.team,
      outputs: entry.outputs ?? {},
      acceptedVariables: settableVariables(entry.team),
    }
  }
  const known = entry.uses === undefined ? undefined : roster.get(entry.uses)
  const own = [known?.instructions, entry.instructions].filter((text) => text !== undefined && text !== '')
  const agent: Agent = {
    ...known,
    name,
    description: entry.description ?? known?.description ?? role ?? '',
    instructions: preamble,
    ...(entry.model === undefined ? undefined : { model: entry.model }),
    ...(entry.temperature === undefined ? undefined : { temperature: entry.temperature }),
    ...(entry.tools === undefined ? undefined : { tools: entry.tools }),
    ...(entry.exclude_tools === undefined ? undefined : { exclude_tools: entry.exclude_tools }),
  }
  const part = { name, role, expertise: entry.expertise ?? [], instructions: own.join('\n'), targets }
  return { kind: 'agent', name, agent, profile: { ...part, outputs: entry.outputs ?? {} } }
}
