import { TroupeError } from '../../errors.ts'
import type { ConditionVerdict } from '../../judgement/team/handoff-routing.ts'
import type { TeamGroup } from '../../judgement/team/team-schema.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { TurnResult } from './member-turn.ts'
import {
  addSpentTokens,
  emptyTurnResult,
  recordTurn,
  runMemberTurn,
  toFailedTurn,
  toTeamMessage,
  writtenArtifacts,
} from './member-turn.ts'
import { formatTeamMessage } from './prompts.ts'
import { inheritedMessages } from './sub-team-context.ts'
import type { TeamMember } from './team-plan.ts'
import type { TeamState } from './team-state.ts'
import { recordTurnEnd, recordTurnStart } from './team-state.ts'

/** The turn of a group: its members at once, or one answer that is made of theirs. */
export async function runGroupTurn(
  floor: TeamState,
  group: TeamGroup,
  at: { key: string; leaves: readonly string[] },
): Promise<TurnResult> {
  floor.context.emit(`${at.key}/group`, 'team:group', {
    ...{ round: floor.round, group: group.name, kind: group.kind, members: [...new Set(group.members)] },
  })
  if (group.kind === 'consensus') {
    const spoken = await runConsensusGroup(floor, group, at.key)
    recordTurn(floor, group.name, spoken)
    return spoken
  }
  const spoken = await runParallelGroup(floor, group, at)
  recordTurnEnd(floor, group.name, spoken.failure !== undefined)
  return spoken
}

/** All members on the same conversation; their answers join it in the order of the members. */
async function runParallelGroup(
  floor: TeamState,
  group: TeamGroup,
  { key, leaves }: { key: string; leaves: readonly string[] },
): Promise<TurnResult> {
  const { context, plan } = floor
  const members = [...new Set(group.members)].map((name) => plan.member(name) as Exclude<TeamMember, { kind: 'group' }>)
  const settled = await context.parallel(members, plan.team.limits.max_parallel, (member) =>
    runMemberTurn(floor, member, { key: `${key}/member/${member.name}`, leaves }),
  )
  const all = settled.map((one, index) => {
    const { name } = members[index] as TeamMember
    const spoken = one.ok ? one.value : toFailedTurn(floor, name, { key: `${key}/member/${name}`, thrown: one.error })
    recordTurn(floor, name, spoken)
    return { name, spoken }
  })
  const heard = all.filter(({ spoken }) => !spoken.failure).map(({ spoken }) => spoken)
  const beside = all.flatMap(({ name, spoken }) => [
    ...spoken.problems.map((problem) => `${name}: ${problem}`),
    ...(spoken.failure ? [`${name} failed: ${spoken.failure.error.message}`] : []),
  ])
  const problems = [...beside, ...variableConflicts(all)]
  const lines = all.flatMap(({ spoken }) => spoken.lines)
  const text = lines.map(({ from, text: words, error }) => `${from}: ${words ?? error ?? ''}`).join('\n\n')
  const artifacts = all.flatMap(({ spoken }) => spoken.artifacts)
  const variables = new Map(heard.flatMap((spoken) => [...spoken.variables]))
  const joint = {
    ...emptyTurnResult(),
    text,
    lines,
    artifacts,
    variables,
    verdicts: unanimousVerdicts(heard),
    problems,
  }
  const failures = all.flatMap(({ spoken }) => spoken.failure ?? [])
  const [first] = failures
  // A limit of the run stops everyone; else one voice that is missing is reported, and the others count.
  const failure =
    failures.find(({ error }) => error.code === 'limit_reached') ?? (heard.length === 0 ? first : undefined)
  return failure ? { ...joint, failure } : joint
}

/** What everyone who was heard says of a sentence alike; who said nothing about it has not agreed. */
function unanimousVerdicts(heard: readonly TurnResult[]): Map<string, ConditionVerdict> {
  const [first, ...others] = heard
  const agreed = [...(first?.verdicts ?? [])].filter(([leaf, { value }]) =>
    others.every(({ verdicts }) => verdicts.get(leaf)?.value === value),
  )
  return new Map(agreed)
}

/** Where members set a variable to different values: the last in the order of members counts, and it is said. */
function variableConflicts(all: readonly { name: string; spoken: TurnResult }[]): string[] {
  const set = new Map<string, { name: string; value: unknown }>()
  return all.flatMap(({ name, spoken }) =>
    [...spoken.variables].flatMap(([variable, value]) => {
      const other = set.get(variable)
      set.set(variable, { name, value })
      if (other === undefined || other.value === value) return []
      const [was, is] = [JSON.stringify(other.value), JSON.stringify(value)]
      return [`${other.name} set '${variable}' to ${was}, ${name} to ${is}: ${is} counts`]
    }),
  )
}

/** One answer of all members, by the pattern that makes one of several. */
async function runConsensusGroup(floor: TeamState, group: TeamGroup, key: string): Promise<TurnResult> {
  const { context, plan, input } = floor
  const members = [...new Set(group.members)]
  for (const name of members) recordTurnStart(floor, name)
  const voices = members.map((name) => toConsensusMember(plan.member(name)))
  const inner = {
    task: input.message,
    agents: voices.map(({ agent: { name }, role }) => (role === undefined ? { name } : { name, role })),
    mode: 'parallel',
    synthesis: group.synthesis ?? 'coordinator',
    context: { conversation: inheritedMessages(floor).map((line) => formatTeamMessage(line)) },
    limits: { max_agents: members.length, max_parallel: plan.team.limits.max_parallel },
    ...(group.weights
      ? { weights: Object.fromEntries(members.map((name) => [name, group.weights?.[name] ?? 1])) }
      : undefined),
    ...(group.threshold ? { consensus_threshold: group.threshold } : undefined),
  }
  try {
    const agents = voices.map(({ agent }) => agent)
    const output = (await context.run('collaborate', inner, { key, agents })) as ConsensusOutput
    for (const [index, name] of members.entries()) {
      recordTurnEnd(floor, name, output.contributions[index]?.status === 'failed')
    }
    floor.totals.tokens += output.metadata?.total_tokens ?? 0
    const artifacts = writtenArtifacts(floor, key)
    const line = toTeamMessage(floor, { from: group.name, text: output.result, artifacts })
    return { ...emptyTurnResult(), text: output.result, lines: [line], artifacts, synthesized: true }
  } catch (thrown) {
    const spoken = toFailedTurn(floor, group.name, { key, thrown })
    await addSpentTokens(floor, key)
    return spoken
  }
}

interface ConsensusOutput {
  result: string
  contributions: readonly { status?: string }[]
  metadata?: { total_tokens?: number }
}

/**
 * A member as one of those who are to agree: the same agent with the same rights, told of itself what it is told in a turn
 * of its own.
 */
function toConsensusMember(member: TeamMember): { agent: Agent; role: string | undefined } {
  if (member.kind !== 'agent') {
    throw new TroupeError('internal', `${member.name} cannot be one of those who are to agree: it is no agent`)
  }
  const { agent, profile } = member
  const known = profile.expertise.length > 0 ? [`You know most of ${profile.expertise.join(', ')}.`] : []
  const instructions = [...known, profile.instructions].filter((text) => text !== '').join('\n')
  return { agent: { ...agent, instructions }, role: profile.role }
}
