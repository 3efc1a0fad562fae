import { TroupeError } from '../../errors.ts'
import type { Verdict } from '../../judgement/handoff.ts'
import type { TeamGroup } from '../../judgement/team/definition.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Floor } from './floor.ts'
import { beginTurn, endTurn } from './floor.ts'
import { handedDown } from './handed-down.ts'
import type { Member } from './plan.ts'
import { lineText } from './prompts.ts'
import type { Spoken } from './speak.ts'
import { countSpent, failedBelow, lineOf, noteTurn, nothing, workOf, writtenAt } from './speak.ts'

/** The turn of a group: its members at once, or one answer that is made of theirs. */
export async function groupTurn(
  floor: Floor,
  group: TeamGroup,
  at: { key: string; leaves: readonly string[] },
): Promise<Spoken> {
  floor.context.emit(`${at.key}/group`, 'team:group', {
    ...{ round: floor.round, group: group.name, kind: group.kind, members: [...new Set(group.members)] },
  })
  if (group.kind === 'consensus') {
    const spoken = await agreed(floor, group, at.key)
    noteTurn(floor, group.name, spoken)
    return spoken
  }
  const spoken = await together(floor, group, at)
  endTurn(floor, group.name, spoken.failure !== undefined)
  return spoken
}

/** All members on the same conversation; their answers join it in the order of the members. */
async function together(
  floor: Floor,
  group: TeamGroup,
  { key, leaves }: { key: string; leaves: readonly string[] },
): Promise<Spoken> {
  const { context, plan } = floor
  const members = [...new Set(group.members)].map((name) => plan.member(name) as Exclude<Member, { kind: 'group' }>)
  const settled = await context.parallel(members, plan.team.limits.max_parallel, (member) =>
    workOf(floor, member, { key: `${key}/member/${member.name}`, leaves }),
  )
  const all = settled.map((one, index) => {
    const { name } = members[index] as Member
    const spoken = one.ok ? one.value : failedBelow(floor, name, { key: `${key}/member/${name}`, thrown: one.error })
    noteTurn(floor, name, spoken)
    return { name, spoken }
  })
  const heard = all.filter(({ spoken }) => !spoken.failure).map(({ spoken }) => spoken)
  const beside = all.flatMap(({ name, spoken }) => [
    ...spoken.problems.map((problem) => `${name}: ${problem}`),
    ...(spoken.failure ? [`${name} failed: ${spoken.failure.error.message}`] : []),
  ])
  const problems = [...beside, ...disputed(all)]
  const lines = all.flatMap(({ spoken }) => spoken.lines)
  const text = lines.map(({ from, text: words, error }) => `${from}: ${words ?? error ?? ''}`).join('\n\n')
  const artifacts = all.flatMap(({ spoken }) => spoken.artifacts)
  const variables = new Map(heard.flatMap((spoken) => [...spoken.variables]))
  const joint = { ...nothing(), text, lines, artifacts, variables, verdicts: unanimous(heard), problems }
  const failures = all.flatMap(({ spoken }) => spoken.failure ?? [])
  const [first] = failures
  // A limit of the run stops everyone; else one voice that is missing is reported, and the others count.
  const failure =
    failures.find(({ error }) => error.code === 'limit_reached') ?? (heard.length === 0 ? first : undefined)
  return failure ? { ...joint, failure } : joint
}

/** What everyone who was heard says of a sentence alike; who said nothing about it has not agreed. */
function unanimous(heard: readonly Spoken[]): Map<string, Verdict> {
  const [first, ...others] = heard
  const agreed = [...(first?.verdicts ?? [])].filter(([leaf, { value }]) =>
    others.every(({ verdicts }) => verdicts.get(leaf)?.value === value),
  )
  return new Map(agreed)
}

/** Where members set a variable to different values: the last in the order of members counts, and it is said. */
function disputed(all: readonly { name: string; spoken: Spoken }[]): string[] {
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
async function agreed(floor: Floor, group: TeamGroup, key: string): Promise<Spoken> {
  const { context, plan, input } = floor
  const members = [...new Set(group.members)]
  for (const name of members) beginTurn(floor, name)
  const voices = members.map((name) => voiceOf(plan.member(name)))
  const inner = {
    task: input.message,
    agents: voices.map(({ agent: { name }, role }) => (role === undefined ? { name } : { name, role })),
    mode: 'parallel',
    synthesis: group.synthesis ?? 'coordinator',
    context: { conversation: handedDown(floor).map((line) => lineText(line)) },
    limits: { max_agents: members.length, max_parallel: plan.team.limits.max_parallel },
    ...(group.weights
      ? { weights: Object.fromEntries(members.map((name) => [name, group.weights?.[name] ?? 1])) }
      : undefined),
    ...(group.threshold ? { consensus_threshold: group.threshold } : undefined),
  }
  try {
    const agents = voices.map(({ agent }) => agent)
    const output = (await context.run('collaborate', inner, { key, agents })) as Agreed
    for (const [index, name] of members.entries()) {
      endTurn(floor, name, output.contributions[index]?.status === 'failed')
    }
    floor.totals.tokens += output.metadata?.total_tokens ?? 0
    const artifacts = writtenAt(floor, key)
    const line = lineOf(floor, { from: group.name, text: output.result, artifacts })
    return { ...nothing(), text: output.result, lines: [line], artifacts, joint: true }
  } catch (thrown) {
    const spoken = failedBelow(floor, group.name, { key, thrown })
    await countSpent(floor, key)
    return spoken
  }
}

interface Agreed {
  result: string
  contributions: readonly { status?: string }[]
  metadata?: { total_tokens?: number }
}

/**
 * A member as one of those who are to agree: the same agent with the same rights, told of itself what it is told in a turn
 * of its own.
 */
function voiceOf(member: Member): { agent: Agent; role: string | undefined } {
  if (member.kind !== 'agent') {
    throw new TroupeError('internal', `${member.name} cannot be one of those who are to agree: it is no agent`)
  }
  const { agent, part } = member
  const known = part.expertise.length > 0 ? [`You know most of ${part.expertise.join(', ')}.`] : []
  const instructions = [...known, part.instructions].filter((text) => text !== '').join('\n')
  return { agent: { ...agent, instructions }, role: part.role }
}
