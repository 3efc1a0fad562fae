import { outOfBudget } from './budget.ts'
import type { Asking } from './contribute.ts'
import { contribute } from './contribute.ts'
import { enough } from './early-stop.ts'
import type { Contribution } from './output.ts'
import { hasSpoken } from './output.ts'
import type { Specialist } from './specialists.ts'
import type { Grouping } from './stand.ts'
import { grouped } from './stand.ts'
import { voicesOf } from './voices.ts'

/** Why the rest was not asked, and who that is. */
export interface Saved {
  agents: string[]
  calls: number
  why: 'cannot_change' | 'beta' | 'solo'
  probability?: number
}

export interface Gathered {
  contributions: Contribution[]
  saved: Saved | null
}

/** All at once and apart, as many at a time as may be. */
export async function atOnce(
  site: Asking,
  specialists: readonly Specialist[],
  max_parallel: number,
): Promise<Contribution[]> {
  const answers = await site.context.parallel(specialists, max_parallel, (who) =>
    contribute(site, who, questionTo(who)),
  )
  return answers.map((answer) => {
    if (answer.ok) return answer.value
    throw answer.error
  })
}

export interface Waves {
  max_parallel: number
  wave: number
  stop_at?: number
  grouping: Grouping
  /** Answers that are there already. */
  known: readonly Contribution[]
}

/** Wave by wave in list order, until asking the rest could not change the outcome. */
export async function inWaves(
  site: Asking,
  specialists: readonly Specialist[],
  { max_parallel, wave, stop_at, grouping, known }: Waves,
): Promise<Gathered> {
  const contributions = [...known]
  for (let from = 0; from < specialists.length; from += wave) {
    const rest = specialists.slice(from + wave)
    contributions.push(...(await atOnce(site, specialists.slice(from, from + wave), max_parallel)))
    if (rest.length === 0 || contributions.some(outOfBudget)) break
    const voices = voicesOf(contributions, grouping.weightOf)
    const equivalence = await grouped(site.context, voices, { ...grouping, key: `waves/${from / wave + 1}` })
    // Vectors that could not be made now may be there in the end, and put others together.
    if (site.context.embedder && equivalence.note !== undefined) continue
    const remaining = rest.map(({ name, role }) => grouping.weightOf({ agent: name, role }))
    const verdict = enough(voices, equivalence, { remaining, stop_at })
    if (!verdict.stop || verdict.why === null) continue
    const { why, probability } = verdict
    const saved = { agents: rest.map(({ name }) => name), calls: rest.length, why }
    return { contributions, saved: probability === undefined ? saved : { ...saved, probability } }
  }
  return { contributions, saved: null }
}

/** One after the other, each hearing those before. */
export async function inTurn(
  site: Asking,
  specialists: readonly Specialist[],
  known: readonly Contribution[],
): Promise<Contribution[]> {
  const contributions = [...known]
  for (const who of specialists) {
    if (contributions.some(outOfBudget)) break
    const previous = contributions.filter(hasSpoken)
    contributions.push(await contribute(site, who, { ...questionTo(who), previous }))
  }
  return contributions
}

/** The key is the name's own: names hold anything, keys are paths. */
export function questionTo({ name }: Pick<Specialist, 'name'>): { key: string } {
  return { key: `agents/${encodeURIComponent(name)}` }
}
