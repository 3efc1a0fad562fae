import { accuracyWeight } from '../../../judgement/vote/calibration.ts'
import type { AgentVote } from '../../../judgement/vote/consensus.ts'
import { hasCriticalConcern, voteScore } from '../../../judgement/vote/consensus.ts'
import type { Ballot } from '../../../judgement/vote/vote.ts'
import type { CollaborateInput } from '../input/input.ts'
import type { OutcomeHistory } from '../outcome/outcome-history.ts'
import type { Contribution } from '../output.ts'

const ABSTAIN_GROUP = -1

/** Weights a vote by `weights` (by name, else by role) and by the agent's accuracy in earlier outcomes. */
export function createVoteWeigher(input: Pick<CollaborateInput, 'weights'>, history: OutcomeHistory) {
  return ({ agent, role }: { agent: string; role: string }): number => {
    const weight = configuredWeight(input.weights, agent) ?? configuredWeight(input.weights, role) ?? 1
    const { right, total } = history.records.get(agent) ?? { right: 0, total: 0 }
    return weight * accuracyWeight(right, total)
  }
}

/** Own properties only: an agent can be called `constructor`. */
function configuredWeight(weights: Readonly<Record<string, number>> = {}, name: string): number | undefined {
  return Object.hasOwn(weights, name) ? weights[name] : undefined
}

export type ContributionVote = AgentVote & { contribution: Contribution }

/**
 * The votes of the contributions with a recommendation. An agent with several subtasks has one vote, the most confident one,
 * with the concerns of all its contributions.
 */
export function votesFrom(
  contributions: readonly Contribution[],
  weightFor: (voter: Contribution) => number,
): ContributionVote[] {
  const counted = contributions.filter(({ recommendation }) => recommendation !== null)
  const ownOf = (name: string) => counted.filter(({ agent }) => agent === name)
  const cast = counted.filter((contribution) => mostConfident(ownOf(contribution.agent)) === contribution)
  const confidenceFor = confidenceScale(cast)
  return cast.flatMap((contribution) => {
    const { agent, role, recommendation } = contribution
    if (recommendation === null) return []
    const concerns = ownOf(agent).flatMap((each) => each.concerns)
    const weight = weightFor(contribution)
    return [{ agent, role, recommendation, ...confidenceFor(contribution), weight, concerns, contribution }]
  })
}

/**
 * A vote without a readable confidence counts as the least confident one that states any: it never beats a stated confidence, not
 * even 0. When nobody is confident at all, the votes count equally. Both are assumptions that a later vote can change.
 */
function confidenceScale(cast: readonly Contribution[]) {
  const stated = cast.flatMap(({ confidence }) => confidence ?? [])
  const lowest = Math.min(1, ...stated)
  const isInformative = stated.some((confidence) => confidence > 0)
  return ({ confidence }: Contribution): Pick<AgentVote, 'confidence' | 'isAssumed'> =>
    confidence !== null && isInformative
      ? { confidence }
      : { confidence: isInformative ? lowest : 1, isAssumed: true as const }
}

/** Contributions revised in mediation take precedence. */
function mostConfident(own: readonly Contribution[]): Contribution | undefined {
  const revised = own.filter(({ before }) => before)
  const candidates = revised.length > 0 ? revised : own
  return candidates.reduce(
    (best, each) => ((each.confidence ?? -1) > (best.confidence ?? -1) ? each : best),
    candidates[0] as Contribution,
  )
}

export function ballotsFrom(
  votes: readonly AgentVote[],
  groups: readonly (readonly number[])[],
): (Ballot & { agent: string; critical: boolean })[] {
  return votes.map(({ agent, confidence, weight, concerns }, index) => ({
    agent,
    group: groups.findIndex((group) => group.includes(index)),
    score: voteScore({ confidence, weight }),
    critical: hasCriticalConcern({ concerns }),
  }))
}

/** Ballots without a recommendation: they score nothing, but their critical concerns count for a veto. */
export function abstentions(contributions: readonly Contribution[]): ReturnType<typeof ballotsFrom> {
  return contributions
    .filter(({ recommendation, error }) => recommendation === null && !error)
    .map(({ agent, concerns }) => ({
      agent,
      group: ABSTAIN_GROUP,
      score: 0,
      critical: hasCriticalConcern({ concerns }),
    }))
}
