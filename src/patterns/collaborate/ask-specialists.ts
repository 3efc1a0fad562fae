import type { ErrorRecord } from '../../errors.ts'
import { leastStoppingVotes } from '../../judgement/vote/vote.ts'
import type { VoteGrouping } from './decision/consensus-state.ts'
import { groupVotes } from './decision/consensus-state.ts'
import { votesFrom } from './decision/contribution-votes.ts'
import { couldStopIfJudged, earlyStopVerdict } from './decision/early-stop.ts'
import type { PairJudge } from './decision/pair-judge.ts'
import type { CollaborateInput, collaborateModes, collaborateSyntheses } from './input/input.ts'
import { isOutOfBudget } from './out-of-budget.ts'
import type { Contribution } from './output.ts'
import { hasContent } from './output.ts'
import type { ContributionScope } from './request-contribution.ts'
import { requestContribution } from './request-contribution.ts'
import type { Specialist } from './specialists.ts'

interface WavePlan {
  input: Pick<CollaborateInput, 'vote' | 'structured'>
  mode: (typeof collaborateModes)[number]
  synthesis: (typeof collaborateSyntheses)[number]
  max_parallel: number
}

/** The number of agents in the first wave and in each later one. */
export interface WaveSizes {
  first: number
  next: number
}

/** With `stop_at`, small later waves ask fewer agents; one at a time would double the rounds and save little. */
const NEXT_WAVE = 2

/**
 * The sizes of the waves; `undefined` if all agents are asked in any case. With `stop_at`, the first wave has the least number of
 * equal votes that can stop, such as 4 for 0.95: fewer would only be slower.
 */
export function waveSizes({ input, mode, synthesis, max_parallel }: WavePlan): WaveSizes | undefined {
  const { strategy = 'weighted', wave, stop_at } = input.vote ?? {}
  const isVote = synthesis === 'vote' || (synthesis === 'auto' && input.structured)
  if (mode !== 'parallel' || !isVote || strategy !== 'weighted') return undefined
  if (wave !== undefined || stop_at === undefined) return { first: wave ?? max_parallel, next: wave ?? max_parallel }
  return { first: leastStoppingVotes(stop_at), next: Math.min(NEXT_WAVE, max_parallel) }
}

/** The wave of each agent. Votes of a later wave must not change the groups of earlier ones. */
export function waveOrder(names: readonly string[], plan: WavePlan): (agent: string) => number {
  const sizes = waveSizes(plan)
  return (agent) => {
    const position = Math.max(0, names.indexOf(agent))
    if (plan.mode === 'sequential') return position
    return sizes === undefined ? 0 : waveAt(position, sizes)
  }
}

function waveAt(position: number, { first, next }: WaveSizes): number {
  return position < first ? 0 : 1 + Math.floor((position - first) / next)
}

/** The agents that were not asked, and the reason. */
export interface Savings {
  agents: string[]
  calls: number
  why: 'cannot_change' | 'beta'
  probability?: number
}

export interface WaveResult {
  contributions: Contribution[]
  saved: Savings | null
  /** The limit of the run that stopped the judge. */
  error?: ErrorRecord
}

/** Asks the specialists independently, at most `max_parallel` at a time. */
export async function askInParallel(
  scope: ContributionScope,
  specialists: readonly Specialist[],
  max_parallel: number,
): Promise<Contribution[]> {
  const answers = await scope.context.parallel(specialists, max_parallel, (specialist) =>
    requestContribution(scope, specialist, specialistRequest(specialist)),
  )
  return answers.map((answer) => {
    if (answer.ok) return answer.value
    throw answer.error
  })
}

export interface WaveOptions {
  max_parallel: number
  waves: WaveSizes
  stop_at?: number
  grouping: VoteGrouping
  judge: PairJudge
}

/** Asks in waves, in list order, until the remaining votes cannot change the outcome. */
export async function askInWaves(
  scope: ContributionScope,
  specialists: readonly Specialist[],
  { max_parallel, waves, stop_at, grouping, judge }: WaveOptions,
): Promise<WaveResult> {
  const contributions: Contribution[] = []
  const count = specialists.length === 0 ? 0 : waveAt(specialists.length - 1, waves) + 1
  for (let wave = 0; wave < count; wave++) {
    const asked = specialists.filter((_, position) => waveAt(position, waves) === wave)
    const rest = specialists.filter((_, position) => waveAt(position, waves) > wave)
    contributions.push(...(await askInParallel(scope, asked, max_parallel)))
    if (rest.length === 0 || contributions.some(isOutOfBudget)) break
    const key = `waves/${wave + 1}`
    const votes = votesFrom(contributions, grouping.weightFor)
    const stopOptions = {
      remaining: rest.map(({ name, role }) => grouping.weightFor({ agent: name, role })),
      stop_at,
    }
    const equivalence = await groupVotes(scope.context, votes, {
      ...grouping,
      key,
      judge,
      worthJudging: (unjudged) =>
        !unjudged.embedderFailed &&
        !earlyStopVerdict(votes, unjudged, stopOptions).stop &&
        couldStopIfJudged(votes, unjudged, stopOptions),
    })
    const { error } = equivalence
    if (error && isOutOfBudget({ error })) return { contributions, saved: null, error }
    // An embedder that failed now may work at the end and merge groups.
    if (equivalence.embedderFailed) continue
    const verdict = earlyStopVerdict(votes, equivalence, stopOptions)
    if (!verdict.stop || verdict.why === null) continue
    // An agent of an earlier wave may have been retried when later ones had answered: these count.
    const later = rest.map((specialist) => specialistRequest(specialist).key)
    if (await scope.context.hasKept(`${key}/continued`, later)) continue
    const { why, probability } = verdict
    const saved = { agents: rest.map(({ name }) => name), calls: rest.length, why }
    return { contributions, saved: probability === undefined ? saved : { ...saved, probability } }
  }
  return { contributions, saved: null }
}

/** Asks one specialist after the other; each sees the contributions before it. */
export async function askSequentially(
  scope: ContributionScope,
  specialists: readonly Specialist[],
): Promise<Contribution[]> {
  const contributions: Contribution[] = []
  for (const specialist of specialists) {
    if (contributions.some(isOutOfBudget)) break
    const previous = contributions.filter(hasContent)
    const request = specialistRequest(specialist)
    contributions.push(await requestContribution(scope, specialist, { ...request, previous }))
  }
  return contributions
}

/** Encodes the name, which can contain a slash: step keys are paths. An agent may have answered before one asked earlier was retried. */
export function specialistRequest({ name }: Pick<Specialist, 'name'>): { key: string; keep: true } {
  return { key: `agents/${encodeURIComponent(name)}`, keep: true }
}
