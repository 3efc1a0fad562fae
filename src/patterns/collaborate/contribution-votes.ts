import { accuracyWeight } from '../../judgement/vote/calibration.ts'
import type { AgentVote } from '../../judgement/vote/consensus.ts'
import { hasCriticalConcern, voteScore } from '../../judgement/vote/consensus.ts'
import type { Ballot } from '../../judgement/vote/vote.ts'
import type { CollaborateInput } from './input.ts'
import type { OutcomeHistory } from './outcome-history.ts'
import type { Contribution } from './output.ts'

/** A voice without a stated confidence counts half. */
const DEFAULT_CONFIDENCE = 0.5
const ABSTAIN_GROUP = -1

/** How much each counts: by name or role as the caller says, and by how often it was right before. */
export function createVoteWeigher(input: Pick<CollaborateInput, 'weights'>, history: OutcomeHistory) {
  return ({ agent, role }: { agent: string; role: string }): number => {
    const given = configuredWeight(input.weights, agent) ?? configuredWeight(input.weights, role) ?? 1
    const { right, total } = history.records.get(agent) ?? { right: 0, total: 0 }
    return given * accuracyWeight(right, total)
  }
}

/** Somebody may be called 'constructor', which every object has. */
function configuredWeight(weights: Readonly<Record<string, number>> = {}, name: string): number | undefined {
  return Object.hasOwn(weights, name) ? weights[name] : undefined
}

/**
 * Those that recommended something; who failed or was cut short has not, and is not counted. Who worked on several parts
 * has one voice, the surest, with the concerns of all of them.
 */
export function votesFrom(
  contributions: readonly Contribution[],
  weightOf: (who: Contribution) => number,
): (AgentVote & { of: Contribution })[] {
  const counted = contributions.filter(({ recommendation }) => recommendation !== null)
  return counted.flatMap((of) => {
    const { agent, role, recommendation } = of
    const own = counted.filter((other) => other.agent === agent)
    if (recommendation === null || mostConfident(own) !== of) return []
    const concerns = own.flatMap((each) => each.concerns)
    return [{ agent, role, recommendation, confidence: confidenceOrDefault(of), weight: weightOf(of), concerns, of }]
  })
}

/** What was said after hearing the others goes before what was not. */
function mostConfident(own: readonly Contribution[]): Contribution | undefined {
  const latest = own.filter(({ before }) => before)
  const asked = latest.length > 0 ? latest : own
  return asked.reduce(
    (best, each) => (confidenceOrDefault(each) > confidenceOrDefault(best) ? each : best),
    asked[0] as Contribution,
  )
}

function confidenceOrDefault({ confidence }: Contribution): number {
  return confidence ?? DEFAULT_CONFIDENCE
}

export function ballotsFrom(
  voices: readonly AgentVote[],
  groups: readonly (readonly number[])[],
): (Ballot & { agent: string; critical: boolean })[] {
  return voices.map(({ agent, confidence, weight, concerns }, index) => ({
    agent,
    group: groups.findIndex((group) => group.includes(index)),
    score: voteScore({ confidence, weight }),
    critical: hasCriticalConcern({ concerns }),
  }))
}

/** Those that recommend nothing count for nothing, but a critical concern of theirs is one all the same. */
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
