import type { ErrorRecord } from '../../errors.ts'
import { hasCriticalConcern } from '../../judgement/vote/consensus.ts'
import type { VoteStrategy } from '../../judgement/vote/vote.ts'
import { tally } from '../../judgement/vote/vote.ts'
import type { ConsensusState } from './consensus-state.ts'
import { abstentions, ballotsFrom } from './contribution-votes.ts'
import { isOutOfBudget } from './out-of-budget.ts'
import type { Contribution } from './output.ts'
import { mediationPrompt } from './prompts.ts'
import type { ContributionContext } from './request-contribution.ts'
import { requestFollowUp } from './request-contribution.ts'
import type { Specialist } from './specialists.ts'

/** They do not agree, or the vote that was asked for comes to no decision: not unanimous, blocked. */
export function hasConflict(
  { consensus, votes, equivalence }: ConsensusState,
  contributions: readonly Contribution[],
  strategy: VoteStrategy | undefined,
): boolean {
  if (consensus.clusters.length > 1 && !consensus.has_consensus) return true
  if (strategy === undefined || votes.length === 0) return false
  const ballots = [...ballotsFrom(votes, equivalence.groups), ...abstentions(contributions)]
  return tally(strategy, ballots).winner === null
}

/** What came of a round of mediation. */
export interface Mediation {
  /** By what somebody said before. */
  revised: Map<Contribution, Contribution>
  problems: string[]
  /** Limits of the run that kept some from answering: a resumed one tries again. */
  stopped: ErrorRecord[]
}

interface MediationRound {
  specialists: readonly Specialist[]
  max_parallel: number
  /** Of everybody, also of those who recommend nothing and object. */
  contributions: readonly Contribution[]
}

/** One round in which every side hears the others; who does not answer keeps what it said, and that is told. */
export async function mediate(
  site: ContributionContext,
  stand: ConsensusState,
  { specialists, max_parallel, contributions }: MediationRound,
): Promise<Mediation> {
  const objecting = contributions.filter((one) => one.recommendation === null && !one.error && hasCriticalConcern(one))
  const positions = [
    ...stand.votes.map(({ of }, index) => ({ of, said: [...opposingContributions(stand, index), ...objecting] })),
    ...objecting.map((of) => ({ of, said: stand.votes.map((voice) => voice.of) })),
  ]
  const sides = positions.flatMap(({ of, said }) => {
    const who = specialists.find(({ name }) => name === of.agent)
    return who && of.session_id !== undefined && said.length > 0 ? [{ who, of, others: said }] : []
  })
  const heard = await site.context.parallel(sides, max_parallel, ({ who, of, others: said }, index) => {
    // Not under the first question's key: that one has ended, and what stands under it counts as done with it.
    const key = `mediation/${index + 1}/${encodeURIComponent(who.name)}`
    return requestFollowUp(site, { who, earlier: of, key, instruction: mediationPrompt(said) })
  })
  const answers = heard.map((answer) => {
    if (answer.ok) return answer.value
    throw answer.error
  })
  const failed = answers.flatMap(({ contribution, error }) => (error ? [{ agent: contribution.agent, error }] : []))
  return {
    revised: new Map(sides.map(({ of }, index) => [of, answers[index]?.contribution ?? of])),
    problems: failed.map(({ agent, error }) => `${agent} could not be asked again: ${error.message}`),
    stopped: failed.flatMap(({ error }) => (isOutOfBudget({ error }) ? [error] : [])),
  }
}

/** The other sides; on one's own side those who see it as critical, and for these everybody. */
function opposingContributions({ votes, equivalence }: ConsensusState, index: number): Contribution[] {
  const own = equivalence.groups.find((group) => group.includes(index)) ?? []
  const grave = votes.map(hasCriticalConcern)
  return votes.flatMap(({ of }, other) => {
    const agrees = own.includes(other) && grave[other] === grave[index]
    return other === index || agrees ? [] : [of]
  })
}
