import type { Voice } from '../../judgement/agreement.ts'
import { isCritical } from '../../judgement/consensus.ts'
import type { Ballot } from '../../judgement/vote.ts'
import { accuracyWeight } from '../../judgement/vote.ts'
import type { History } from './history.ts'
import type { CollaborateInput } from './input.ts'
import type { Contribution } from './output.ts'

/** A voice without a stated confidence counts half. */
const UNSTATED = 0.5
const ABSTAINS = -1

/** How much each counts: by name or role as the caller says, and by how often it was right before. */
export function weighing(input: Pick<CollaborateInput, 'weights'>, history: History) {
  return ({ agent, role }: { agent: string; role: string }): number => {
    const given = input.weights?.[agent] ?? input.weights?.[role] ?? 1
    const { right, total } = history.records.get(agent) ?? { right: 0, total: 0 }
    return given * accuracyWeight(right, total)
  }
}

/** Those that recommended something; who failed or was cut short has not, and is not counted. */
export function voicesOf(
  contributions: readonly Contribution[],
  weightOf: (who: Contribution) => number,
): (Voice & { of: Contribution })[] {
  return contributions.flatMap((of) => {
    const { agent, role, recommendation, confidence, concerns } = of
    if (recommendation === null) return []
    return [{ agent, role, recommendation, confidence: confidence ?? UNSTATED, weight: weightOf(of), concerns, of }]
  })
}

export function ballotsOf(
  voices: readonly Voice[],
  groups: readonly (readonly number[])[],
): (Ballot & { agent: string; critical: boolean })[] {
  return voices.map(({ agent, confidence, weight, concerns }, index) => ({
    agent,
    group: groups.findIndex((group) => group.includes(index)),
    score: confidence * weight,
    critical: isCritical({ concerns }),
  }))
}

/** Those that recommend nothing count for nothing, but a critical concern of theirs is one all the same. */
export function abstentions(contributions: readonly Contribution[]): ReturnType<typeof ballotsOf> {
  return contributions
    .filter(({ recommendation, error }) => recommendation === null && !error)
    .map(({ agent, concerns }) => ({ agent, group: ABSTAINS, score: 0, critical: isCritical({ concerns }) }))
}
