import { unknownName } from '../../errors.ts'
import { evaluate } from '../../judgement/condition/evaluate.ts'
import type { Leaf, Value } from '../../judgement/condition/tree.ts'
import { leavesOf } from '../../judgement/condition/tree.ts'
import type { Rule } from '../../judgement/handoff.ts'
import { rulesFrom } from '../../judgement/handoff.ts'
import type { Team, TeamAgent, TeamGroup, ValueType } from '../../judgement/team/definition.ts'
import { castOf } from '../../judgement/team/parts.ts'
import { rulesOf } from '../../judgement/team/rules.ts'
import { settableIn } from '../../judgement/team/settable.ts'
import { systemTypes, variableTypes } from '../../judgement/team/variables.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Roster } from '../../kernel/roster.ts'
import type { Part } from './prompts.ts'
import { preambleOf, tailOf, withRole } from './prompts.ts'

type Outputs = Readonly<Record<string, ValueType>>

/** Who stands behind a name of the team. */
export type Member =
  | { kind: 'agent'; name: string; agent: Agent; part: Part }
  | { kind: 'human'; name: string; role: string | undefined }
  | { kind: 'team'; name: string; team: Team; outputs: Outputs; takes: ReadonlyMap<string, ValueType | undefined> }
  | { kind: 'group'; name: string; group: TeamGroup }

/** What a team is, made ready once: nothing in it changes while the team works. */
export interface Plan {
  team: Team
  preamble: string
  /** Names of agents and groups. */
  names: readonly string[]
  /** Types of the variables that configuration and agents set. */
  types: ReadonlyMap<string, ValueType>
  system: ReadonlyMap<string, ValueType>
  /** Nobody has a model of its own. */
  oneModel: boolean
  member(name: string): Member
  rules(from: string, failed?: boolean): readonly Rule[]
  /** The sentences that the rules from here leave to somebody's judgement, with the values of now put in. */
  leaves(from: string, variables: Readonly<Record<string, Value>>): readonly string[]
  tail(part: Part, leaves: readonly string[]): string
}

/** An agent found in the roster for a place that the team left open. */
export interface Formed {
  name: string
  role: string
  uses: string
  expertise: string[]
  /** The words, without their endings, by which it was found. */
  by?: string[]
}

export function planOf(team: Team, roster: Roster, formed: readonly Formed[]): Plan {
  const preamble = preambleOf(
    team,
    formed.map(({ name, role }) => withRole(name, role)),
  )
  const { agents, groups } = castOf(team)
  const rules = rulesFrom(rulesOf(team).rules)
  const entries = new Map<string, TeamAgent>([
    ...team.agents.map((agent) => [agent.name, agent] as const),
    ...formed.map((place) => [place.name, { ...place, kind: 'agent' as const }] as const),
  ])
  const groupsByName = new Map(team.groups.map((group) => [group.name, group]))
  const roleOf = (name: string) => withRole(name, entries.get(name)?.role ?? entries.get(name)?.description)
  const sentences = memo((from) => rules(from).flatMap(({ condition }) => leavesOf(condition).filter(isSemantic)))
  const fixed = memo((from) => [...new Set(sentences(from).map(({ text }) => text))])
  const tails = new WeakMap<Part, { leaves: readonly string[]; text: string }>()
  const made = (name: string): Member => {
    const group = groupsByName.get(name)
    if (group) return { kind: 'group', name, group }
    const entry = entries.get(name)
    if (!entry) throw unknownName('unknown_agent', 'agent or group', name, [...agents, ...groups])
    const targets = [...new Set(rules(name).map(({ to }) => to))].map(roleOf)
    return memberOf(entry, { roster, preamble, targets })
  }
  return {
    team,
    preamble,
    names: [...agents, ...groups],
    types: variableTypes(team),
    system: systemTypes(team),
    oneModel: formed.length === 0 && team.agents.every(({ model, uses }) => model === undefined && uses === undefined),
    member: memo(made),
    rules,
    leaves(from, variables) {
      if (sentences(from).every((leaf) => leaf.variables.length === 0)) return fixed(from)
      const open = sentences(from).flatMap((leaf) => evaluate(leaf, { variables, verdict: () => undefined }).open)
      return [...new Set(open)]
    },
    tail(part, leaves) {
      const known = tails.get(part)
      if (known?.leaves === leaves) return known.text
      const text = tailOf(part, leaves)
      tails.set(part, { leaves, text })
      return text
    },
  }
}

function memo<T>(make: (name: string) => T): (name: string) => T {
  const made = new Map<string, T>()
  return (name) => {
    const known = made.get(name)
    if (known !== undefined) return known
    const value = make(name)
    made.set(name, value)
    return value
  }
}

type Semantic = Extract<Leaf, { kind: 'semantic' }>

function isSemantic(leaf: Leaf): leaf is Semantic {
  return leaf.kind === 'semantic'
}

interface Making {
  roster: Roster
  preamble: string
  targets: readonly string[]
}

function memberOf(entry: TeamAgent, { roster, preamble, targets }: Making): Member {
  const { name, role } = entry
  if (entry.kind === 'human') return { kind: 'human', name, role }
  if (typeof entry.team === 'object') {
    return { kind: 'team', name, team: entry.team, outputs: entry.outputs ?? {}, takes: settableIn(entry.team) }
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
  return { kind: 'agent', name, agent, part: { ...part, outputs: entry.outputs ?? {} } }
}
