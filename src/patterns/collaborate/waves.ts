import type { VoteGrouping } from './consensus-state.ts'
import { groupVotes } from './consensus-state.ts'
import { votesFrom } from './contribution-votes.ts'
import { earlyStopVerdict } from './early-stop.ts'
import { isOutOfBudget } from './out-of-budget.ts'
import type { Contribution } from './output.ts'
import { hasContent } from './output.ts'
import type { ContributionScope } from './request-contribution.ts'
import { requestContribution } from './request-contribution.ts'
import type { Specialist } from './specialists.ts'

/** The agents that were not asked, and the reason. */
export interface Savings {
  agents: string[]
  calls: number
  why: 'cannot_change' | 'beta' | 'solo'
  probability?: number
}

export interface WaveResult {
  contributions: Contribution[]
  saved: Savings | null
}

/** Asks the specialists independently, at most `max_parallel` at a time. */
export async function runParallel(
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
  wave: number
  stop_at?: number
  grouping: VoteGrouping
  /** Contributions of earlier requests. */
  earlier: readonly Contribution[]
}

/** Asks in waves, in list order, until the remaining votes cannot change the outcome. */
export async function runWaves(
  scope: ContributionScope,
  specialists: readonly Specialist[],
  { max_parallel, wave, stop_at, grouping, earlier }: WaveOptions,
): Promise<WaveResult> {
  const contributions = [...earlier]
  for (let from = 0; from < specialists.length; from += wave) {
    const rest = specialists.slice(from + wave)
    contributions.push(...(await runParallel(scope, specialists.slice(from, from + wave), max_parallel)))
    if (rest.length === 0 || contributions.some(isOutOfBudget)) break
    const votes = votesFrom(contributions, grouping.weightFor)
    const equivalence = await groupVotes(scope.context, votes, { ...grouping, key: `waves/${from / wave + 1}` })
    // An embedder that failed now may work at the end and merge groups.
    if (scope.context.embedder && equivalence.note !== undefined) continue
    const remaining = rest.map(({ name, role }) => grouping.weightFor({ agent: name, role }))
    const verdict = earlyStopVerdict(votes, equivalence, { remaining, stop_at })
    if (!verdict.stop || verdict.why === null) continue
    const { why, probability } = verdict
    const saved = { agents: rest.map(({ name }) => name), calls: rest.length, why }
    return { contributions, saved: probability === undefined ? saved : { ...saved, probability } }
  }
  return { contributions, saved: null }
}

/** Asks one specialist after the other; each sees the contributions before it. */
export async function runSequential(
  scope: ContributionScope,
  specialists: readonly Specialist[],
  earlier: readonly Contribution[],
): Promise<Contribution[]> {
  const contributions = [...earlier]
  for (const specialist of specialists) {
    if (contributions.some(isOutOfBudget)) break
    const previous = contributions.filter(hasContent)
    contributions.push(await requestContribution(scope, specialist, { ...specialistRequest(specialist), previous }))
  }
  return contributions
}

/** Encodes the name, which can contain a slash: step keys are paths. */
export function specialistRequest({ name }: Pick<Specialist, 'name'>): { key: string } {
  return { key: `agents/${encodeURIComponent(name)}` }
}
