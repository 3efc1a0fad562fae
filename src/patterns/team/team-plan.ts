import { unknownNameError } from '../../errors.ts'
import type { ConditionLeaf, VariableValue } from '../../judgement/condition/condition-tree.ts'
import { conditionLeaves } from '../../judgement/condition/condition-tree.ts'
import { evaluateCondition } from '../../judgement/condition/evaluate-condition.ts'
import type { VariableType } from '../../judgement/condition/system-variables.ts'
import type { AskedVariables } from '../../judgement/team/asked-variables.ts'
import { askedVariables } from '../../judgement/team/asked-variables.ts'
import type { HandoffRule } from '../../judgement/team/handoff-routing.ts'
import { createRuleLookup } from '../../judgement/team/handoff-routing.ts'
import { parseHandoffRules } from '../../judgement/team/handoff-rules.ts'
import { settableVariables } from '../../judgement/team/settable-variables.ts'
import { synchronisedAgents } from '../../judgement/team/synchronisation.ts'
import { teamMembers } from '../../judgement/team/team-members.ts'
import type { Team, TeamAgent, TeamGroup } from '../../judgement/team/team-schema.ts'
import { systemVariableTypes } from '../../judgement/team/team-variables.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Roster } from '../../kernel/roster.ts'
import type { TeamRunInput } from './input.ts'
import type { MemberProfile, PreambleMembers } from './member-prompt.ts'
import { formatTurnPrompt, isInPreamble, memberSummary, nameWithRole, teamPreamble } from './member-prompt.ts'

type Outputs = Readonly<Record<string, VariableType>>

/** A member of the team by kind. */
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

/** The static plan of a team: prepared once, unchanged while the team runs. */
export interface TeamPlan {
  team: Team
  preamble: string
  /** Names of agents and groups. */
  names: readonly string[]
  systemVariables: ReadonlyMap<string, VariableType>
  /** True when no member has its own model. */
  sharesOneModel: boolean
  member(name: string): TeamMember
  rules(from: string): readonly HandoffRule[]
  /** The agents that have to work before the targets of `from` start, although no handoff leads to them. */
  synchronisedAgents(from: string): readonly string[]
  /** The natural-language conditions of the rules from `from`, with the current variable values filled in. */
  semanticConditions(from: string, variables: Readonly<Record<string, VariableValue>>): readonly string[]
  /** The same without the rules of a group's members. */
  ownConditions(from: string, variables: Readonly<Record<string, VariableValue>>): readonly string[]
  turnPrompt(profile: MemberProfile, conditions: readonly string[]): string
}

/** An agent of the roster matched to an open role of the team. */
export interface FilledRole {
  name: string
  role: string
  uses: string
  expertise: string[]
  method: 'embeddings' | 'words'
  /** With `words`, the word stems that matched. */
  by: string[]
  /** With `embeddings`, the cosine similarity of role and agent. */
  similarity?: number
}

export function createTeamPlan(
  { team, variables }: Pick<TeamRunInput, 'team' | 'variables'>,
  roster: Roster,
  filledRoles: readonly FilledRole[],
): TeamPlan {
  const { agents, groups } = teamMembers(team)
  const allRules = parseHandoffRules(team).rules
  const rules = createRuleLookup(allRules, team.groups)
  const asked = askedVariables(team, allRules, Object.keys(variables))
  const entries = new Map<string, TeamAgent>([
    ...team.agents.map((agent) => [agent.name, agent] as const),
    ...filledRoles.map((role) => [role.name, { ...role, kind: 'agent' as const }] as const),
  ])
  const positions = new Map([...entries.keys()].map((name, position) => [name, position]))
  const summaries = [...entries.values()].map((entry) => memberSummary(entry, memberDescription(entry, roster)))
  const members = agentMembers([...entries.values()], roster)
  const shared = (team.share_instructions ?? paysToShare(members)) ? members.map(({ profile }) => profile) : []
  const needsObject = asksForObject(team, [...asked.values()], allRules)
  const preamble = teamPreamble(team, { summaries, shared, needsObject })
  const groupsByName = new Map(team.groups.map((group) => [group.name, group]))
  const formatTarget = (name: string) => {
    const position = positions.get(name)
    if (position === undefined) return nameWithRole(name, groupsByName.get(name)?.members.join(', '))
    // Prompt caching: what the shared preamble says of a member is not repeated in the part of one turn.
    return isInPreamble(position) ? name : (summaries[position] ?? name)
  }
  const createMember = (name: string): TeamMember => {
    const group = groupsByName.get(name)
    if (group) return { kind: 'group', name, group }
    const entry = entries.get(name)
    if (!entry) throw unknownNameError('unknown_agent', { kind: 'agent or group', name, known: [...agents, ...groups] })
    const targets = [...new Set(rules(name).map(({ to }) => to))].map(formatTarget)
    const isShared = shared.some((member) => member.name === name)
    return toTeamMember(entry, { roster, preamble, targets, isShared, asked: asked.get(name) ?? {} })
  }
  return {
    team,
    preamble,
    names: [...agents, ...groups],
    systemVariables: systemVariableTypes(team),
    sharesOneModel:
      filledRoles.length === 0 && team.agents.every(({ model, uses }) => model === undefined && uses === undefined),
    member: memoize(createMember),
    rules,
    synchronisedAgents: memoize((from) => synchronisedAgents(team, allRules, from)),
    semanticConditions: createConditionLookup(rules),
    ownConditions: createConditionLookup(createRuleLookup(allRules)),
    turnPrompt: createPromptCache(),
  }
}

/** Whether a turn of any member may ask for variables or for verdicts on conditions in words. */
function asksForObject(team: Team, asked: readonly AskedVariables[], rules: readonly HandoffRule[]): boolean {
  const outputs = [...team.agents.map((agent) => agent.outputs ?? {}), ...asked]
  if (outputs.some((variables) => Object.keys(variables).length > 0)) return true
  return rules.some(({ condition }) => conditionLeaves(condition).some(isSemantic))
}

/** Conditions without variables are the same list in every turn, so that the turn prompt can be cached. */
function createConditionLookup(rules: TeamPlan['rules']): TeamPlan['semanticConditions'] {
  const semanticLeaves = memoize((from) =>
    rules(from).flatMap(({ condition }) => conditionLeaves(condition).filter(isSemantic)),
  )
  const fixedConditions = memoize((from) => [...new Set(semanticLeaves(from).map(({ text }) => text))])
  return (from, variables) => {
    if (semanticLeaves(from).every((leaf) => leaf.variables.length === 0)) return fixedConditions(from)
    const open = semanticLeaves(from).flatMap(
      (leaf) => evaluateCondition(leaf, { variables, verdict: () => undefined }).open,
    )
    return [...new Set(open)]
  }
}

function createPromptCache(): TeamPlan['turnPrompt'] {
  const cache = new WeakMap<MemberProfile, { conditions: readonly string[]; text: string }>()
  return (profile, conditions) => {
    const cached = cache.get(profile)
    if (cached?.conditions === conditions) return cached.text
    const text = formatTurnPrompt(profile, conditions)
    cache.set(profile, { conditions, text })
    return text
  }
}

function memoize<T>(compute: (name: string) => T): (name: string) => T {
  const cache = new Map<string, T>()
  return (name) => {
    const cached = cache.get(name)
    if (cached !== undefined) return cached
    const value = compute(name)
    cache.set(name, value)
    return value
  }
}

type SemanticCondition = Extract<ConditionLeaf, { kind: 'semantic' }>

function isSemantic(leaf: ConditionLeaf): leaf is SemanticCondition {
  return leaf.kind === 'semantic'
}

function memberDescription({ description, uses }: TeamAgent, roster: Roster): string | undefined {
  return description ?? (uses !== undefined && roster.has(uses) ? roster.get(uses).description : undefined)
}

/** The instructions of the roster agent and of the team file. */
function entryInstructions({ uses, instructions }: TeamAgent, roster: Roster): string {
  const base = uses === undefined ? undefined : roster.get(uses).instructions
  return [base, instructions].filter((text) => text !== undefined && text !== '').join('\n')
}

interface AgentMember {
  entry: TeamAgent
  profile: PreambleMembers['shared'][number]
}

/** The agents that have instructions. */
function agentMembers(entries: readonly TeamAgent[], roster: Roster): AgentMember[] {
  return entries
    .filter(({ kind, team }) => kind === 'agent' && team === undefined)
    .map((entry) => {
      const { name, expertise = [] } = entry
      return { entry, profile: { name, expertise, instructions: entryInstructions(entry, roster) } }
    })
    .filter(({ profile: { expertise, instructions } }) => expertise.length > 0 || instructions !== '')
}

/** A cached token costs a tenth: with more agents, reading the instructions of all costs more than reading one's own anew. */
const MAX_SHARING_AGENTS = 10
/** Shorter instructions are a small part of each request anyway. */
const MIN_MEAN_CHARS = 200
const MAX_SHARED_CHARS = 16_000

/**
 * Prompt caching: instructions of one agent are new in each request, unless all read them in the shared part. That pays for a few
 * agents with long instructions, the same model and the same tools; providers cache per model, and tools first.
 */
function paysToShare(members: readonly AgentMember[]): boolean {
  const chars = members.reduce((sum, { profile }) => sum + profile.instructions.length, 0)
  const settings = ({ uses, model, tools, exclude_tools }: TeamAgent) =>
    JSON.stringify([uses, model, tools, exclude_tools])
  const isAlike = new Set(members.map(({ entry }) => settings(entry))).size === 1
  const isFew = members.length > 1 && members.length <= MAX_SHARING_AGENTS
  return isAlike && isFew && chars >= MIN_MEAN_CHARS * members.length && chars <= MAX_SHARED_CHARS
}

interface MemberContext {
  roster: Roster
  preamble: string
  targets: readonly string[]
  isShared: boolean
  asked: AskedVariables
}

function toTeamMember(entry: TeamAgent, { roster, preamble, targets, isShared, asked }: MemberContext): TeamMember {
  const { name, role, expertise = [] } = entry
  const outputs = { ...entry.outputs, ...asked }
  if (entry.kind === 'human') return { kind: 'human', name, role }
  if (typeof entry.team === 'object') {
    return {
      kind: 'team',
      name,
      team: entry.team,
      outputs,
      acceptedVariables: settableVariables(entry.team),
    }
  }
  const base = entry.uses === undefined ? undefined : roster.get(entry.uses)
  const agent: Agent = {
    ...base,
    name,
    description: entry.description ?? base?.description ?? role ?? '',
    instructions: preamble,
    ...(entry.model === undefined ? undefined : { model: entry.model }),
    ...(entry.temperature === undefined ? undefined : { temperature: entry.temperature }),
    ...(entry.tools === undefined ? undefined : { tools: entry.tools }),
    ...(entry.exclude_tools === undefined ? undefined : { exclude_tools: entry.exclude_tools }),
    artifacts: true,
  }
  return {
    kind: 'agent',
    name,
    agent,
    profile: {
      name,
      role,
      expertise,
      instructions: entryInstructions(entry, roster),
      isShared,
      targets,
      outputs,
      asked: Object.keys(asked),
    },
  }
}
