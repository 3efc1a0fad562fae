import { accuracyWeight } from '../../judgement/vote/calibration.ts'
import type { AgentVote } from '../../judgement/vote/consensus.ts'
import { hasCriticalConcern, voteScore } from '../../judgement/vote/consensus.ts'
import type { Ballot } from '../../judgement/vote/vote.ts'
import type { CollaborateInput } from './input.ts'
import type { OutcomeHistory } from './outcome-history.ts'
import type { Contribution } from './output.ts'

/** The confidence of a vote that states none. */
const DEFAULT_CONFIDENCE = 0.5
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
  return counted.flatMap((contribution) => {
    const { agent, role, recommendation } = contribution
    const own = counted.filter((other) => other.agent === agent)
    if (recommendation === null || mostConfident(own) !== contribution) return []
    const concerns = own.flatMap((each) => each.concerns)
    const confidence = confidenceOrDefault(contribution)
    return [{ agent, role, recommendation, confidence, weight: weightFor(contribution), concerns, contribution }]
  })
}

/** Contributions revised in mediation take precedence. */
function mostConfident(own: readonly Contribution[]): Contribution | undefined {
  const revised = own.filter(({ before }) => before)
  const candidates = revised.length > 0 ? revised : own
  return candidates.reduce(
    (best, each) => (confidenceOrDefault(each) > confidenceOrDefault(best) ? each : best),
    candidates[0] as Contribution,
  )
}

function confidenceOrDefault({ confidence }: Contribution): number {
  return confidence ?? DEFAULT_CONFIDENCE
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
