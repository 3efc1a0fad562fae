import type { VoteGrouping } from './consensus-state.ts'
import { groupVotes } from './consensus-state.ts'
import { votesFrom } from './contribution-votes.ts'
import { earlyStopVerdict } from './early-stop.ts'
import { isOutOfBudget } from './out-of-budget.ts'
import type { Contribution } from './output.ts'
import { hasContent } from './output.ts'
import type { ContributionContext } from './request-contribution.ts'
import { requestContribution } from './request-contribution.ts'
import type { Specialist } from './specialists.ts'

/** Why the rest was not asked, and who that is. */
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

/** All at once and apart, as many at a time as may be. */
export async function runParallel(
  site: ContributionContext,
  specialists: readonly Specialist[],
  max_parallel: number,
): Promise<Contribution[]> {
  const answers = await site.context.parallel(specialists, max_parallel, (who) =>
    requestContribution(site, who, specialistRequest(who)),
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
  /** Answers that are there already. */
  known: readonly Contribution[]
}

/** Wave by wave in list order, until asking the rest could not change the outcome. */
export async function runWaves(
  site: ContributionContext,
  specialists: readonly Specialist[],
  { max_parallel, wave, stop_at, grouping, known }: WaveOptions,
): Promise<WaveResult> {
  const contributions = [...known]
  for (let from = 0; from < specialists.length; from += wave) {
    const rest = specialists.slice(from + wave)
    contributions.push(...(await runParallel(site, specialists.slice(from, from + wave), max_parallel)))
    if (rest.length === 0 || contributions.some(isOutOfBudget)) break
    const voices = votesFrom(contributions, grouping.weightFor)
    const equivalence = await groupVotes(site.context, voices, { ...grouping, key: `waves/${from / wave + 1}` })
    // Vectors that could not be made now may be there in the end, and put others together.
    if (site.context.embedder && equivalence.note !== undefined) continue
    const remaining = rest.map(({ name, role }) => grouping.weightFor({ agent: name, role }))
    const verdict = earlyStopVerdict(voices, equivalence, { remaining, stop_at })
    if (!verdict.stop || verdict.why === null) continue
    const { why, probability } = verdict
    const saved = { agents: rest.map(({ name }) => name), calls: rest.length, why }
    return { contributions, saved: probability === undefined ? saved : { ...saved, probability } }
  }
  return { contributions, saved: null }
}

/** One after the other, each hearing those before. */
export async function runSequential(
  site: ContributionContext,
  specialists: readonly Specialist[],
  known: readonly Contribution[],
): Promise<Contribution[]> {
  const contributions = [...known]
  for (const who of specialists) {
    if (contributions.some(isOutOfBudget)) break
    const previous = contributions.filter(hasContent)
    contributions.push(await requestContribution(site, who, { ...specialistRequest(who), previous }))
  }
  return contributions
}

/** The key is the name's own: names hold anything, keys are paths. */
export function specialistRequest({ name }: Pick<Specialist, 'name'>): { key: string } {
  return { key: `agents/${encodeURIComponent(name)}` }
}
