import type { Verdict } from '../../judgement/handoff.ts'
import type { TeamGroup } from '../../judgement/team/definition.ts'
import type { Floor } from './floor.ts'
import { beginTurn, endTurn } from './floor.ts'
import type { Member } from './plan.ts'
import { lineText } from './prompts.ts'
import type { Spoken } from './speak.ts'
import { failedBelow, lineOf, noteTurn, nothing, workOf, writtenAt } from './speak.ts'

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
  const problems = all.flatMap(({ name, spoken }) => [
    ...spoken.problems.map((problem) => `${name}: ${problem}`),
    ...(spoken.failure ? [`${name} failed: ${spoken.failure.error.message}`] : []),
  ])
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

/** What all who judged a sentence say of it alike. */
function unanimous(heard: readonly Spoken[]): Map<string, Verdict> {
  const verdicts = new Map<string, Verdict>()
  const split = new Set<string>()
  for (const { verdicts: own } of heard) {
    for (const [leaf, verdict] of own) {
      const other = verdicts.get(leaf)
      if (other && other.value !== verdict.value) split.add(leaf)
      verdicts.set(leaf, verdict)
    }
  }
  for (const leaf of split) verdicts.delete(leaf)
  return verdicts
}

/** How many of the last messages those who are to agree are given. */
const GIVEN = 6

/** One answer of all members, by the pattern that makes one of several. */
async function agreed(floor: Floor, group: TeamGroup, key: string): Promise<Spoken> {
  const { context, plan, lines, input } = floor
  const members = [...new Set(group.members)]
  for (const name of members) beginTurn(floor, name)
  const entries = members.map((name) => specialist(plan.member(name)))
  const inner = {
    task: lines.findLast(({ from }) => from === 'user')?.text ?? input.message,
    agents: entries,
    mode: 'parallel',
    synthesis: group.synthesis ?? 'coordinator',
    context: { conversation: lines.slice(-GIVEN).map((line) => lineText(line)) },
    limits: { max_agents: members.length, max_parallel: plan.team.limits.max_parallel },
    ...(group.weights ? { weights: weightsOf(group.weights, members, entries) } : undefined),
    ...(group.threshold ? { consensus_threshold: group.threshold } : undefined),
  }
  try {
    const output = (await context.run('collaborate', inner, { key })) as Agreed
    for (const [index, name] of members.entries()) {
      endTurn(floor, name, output.contributions[index]?.status === 'failed')
    }
    floor.totals.tokens += output.metadata?.total_tokens ?? 0
    const artifacts = writtenAt(floor, key)
    const line = lineOf(floor, { from: group.name, text: output.result, artifacts })
    return { ...nothing(), text: output.result, lines: [line], artifacts, joint: true }
  } catch (thrown) {
    return failedBelow(floor, group.name, { key, thrown })
  }
}

interface Agreed {
  result: string
  contributions: readonly { status?: string }[]
  metadata?: { total_tokens?: number }
}

interface Specialist {
  name: string
  role?: string
  config?: Record<string, unknown>
}

function specialist(member: Member): Specialist {
  if (member.kind !== 'agent') return { name: member.name }
  const { agent, part } = member
  return {
    name: member.name,
    ...(part.role === undefined ? undefined : { role: part.role }),
    config: {
      system_prompt: part.instructions,
      ...(agent.model === undefined ? undefined : { model: agent.model }),
      ...(agent.temperature === undefined ? undefined : { temperature: agent.temperature }),
      ...(agent.tools === undefined ? undefined : { tools: agent.tools }),
    },
  }
}

function weightsOf(
  weights: Readonly<Record<string, number>>,
  members: readonly string[],
  entries: readonly Specialist[],
): Record<string, number> {
  return Object.fromEntries(members.map((name, index) => [entries[index]?.name ?? name, weights[name] ?? 1]))
}
