import type { ErrorRecord } from '../../../errors.ts'
import { hasCriticalConcern } from '../../../judgement/vote/consensus.ts'
import { tallyUnclear } from '../../../judgement/vote/unclear-votes.ts'
import type { VoteStrategy } from '../../../judgement/vote/vote.ts'
import type { Contribution } from '../output.ts'
import { mediationPrompt } from '../prompts/mediation-prompt.ts'
import type { ContributionScope } from '../request-contribution.ts'
import { requestFollowUp } from '../request-contribution.ts'
import type { Specialist } from '../specialists.ts'
import type { ConsensusState } from './consensus-state.ts'
import { abstentions, ballotsFrom } from './contribution-votes.ts'

/** True without consensus, and when a requested vote has no winner (not unanimous, or blocked by a veto). */
export function hasConflict(
  { consensus, votes, equivalence }: ConsensusState,
  contributions: readonly Contribution[],
  strategy: VoteStrategy | undefined,
): boolean {
  if (consensus.clusters.length > 1 && !consensus.has_consensus) return true
  if (strategy === undefined || votes.length === 0) return false
  const ballots = [...ballotsFrom(votes, equivalence.groups), ...abstentions(contributions)]
  return tallyUnclear(strategy, ballots, equivalence).winner === null
}

export interface Mediation {
  /** Revised contributions by the original ones. */
  revised: Map<Contribution, Contribution>
  problems: string[]
  /** Failures that resume can retry. */
  errors: ErrorRecord[]
}

interface MediationRound {
  specialists: readonly Specialist[]
  max_parallel: number
  contributions: readonly Contribution[]
}

/** One round in which each side reads the arguments of the others. An agent that fails keeps its contribution. */
export async function mediate(
  scope: ContributionScope,
  state: ConsensusState,
  { specialists, max_parallel, contributions }: MediationRound,
): Promise<Mediation> {
  const objections = contributions.filter(
    (contribution) => contribution.recommendation === null && !contribution.error && hasCriticalConcern(contribution),
  )
  const positions = [
    ...state.votes.map(({ contribution }, index) => ({
      contribution,
      others: [...opposingContributions(state, index), ...objections],
    })),
    ...objections.map((contribution) => ({ contribution, others: state.votes.map((vote) => vote.contribution) })),
  ]
  const participants = positions.flatMap(({ contribution, others }) => {
    const specialist = specialists.find(({ name }) => name === contribution.agent)
    const canAnswer = specialist && contribution.session_id !== undefined && others.length > 0
    return canAnswer ? [{ specialist, contribution, others }] : []
  })
  const settled = await scope.context.parallel(participants, max_parallel, (participant, index) => {
    const { specialist, contribution: earlier, others } = participant
    // A key of its own: steps under the key of the first request count as completed with it.
    const key = `mediation/${index + 1}/${encodeURIComponent(specialist.name)}`
    const instruction = mediationPrompt(others, scope.answer ? 'object' : 'text')
    return requestFollowUp(scope, { specialist, earlier, key, instruction })
  })
  const answers = settled.map((answer) => {
    if (answer.ok) return answer.value
    throw answer.error
  })
  const failed = answers.flatMap(({ contribution, error }) => (error ? [{ agent: contribution.agent, error }] : []))
  return {
    revised: new Map(
      participants.map(({ contribution }, index) => [contribution, answers[index]?.contribution ?? contribution]),
    ),
    problems: failed.map(({ agent, error }) => `${agent} failed in the mediation round: ${error.message}`),
    errors: failed.map(({ error }) => error),
  }
}

/** Contributions of the other sides, and of the own side where only one of the two has a critical concern. */
function opposingContributions({ votes, equivalence }: ConsensusState, index: number): Contribution[] {
  const own = equivalence.groups.find((group) => group.includes(index)) ?? []
  const critical = votes.map(hasCriticalConcern)
  return votes.flatMap(({ contribution }, other) => {
    const agrees = own.includes(other) && critical[other] === critical[index]
    return other === index || agrees ? [] : [contribution]
  })
}
