import type { ErrorRecord } from '../../errors.ts'
import { shouldCollaborate } from '../../judgement/vote/should-collaborate.ts'
import type { Savings } from './ask-specialists.ts'
import {
  askInParallel,
  askInWaves,
  askSequentially,
  specialistRequest,
  waveSizes,
  wereAsked,
} from './ask-specialists.ts'
import { runHierarchy } from './hierarchy.ts'
import type { Collaboration } from './input/prepare-collaboration.ts'
import { isOutOfBudget } from './out-of-budget.ts'
import type { Contribution } from './output.ts'
import { requestContribution } from './request-contribution.ts'
import type { Specialist } from './specialists.ts'

/** The contributions, and the reason if some specialists were not asked. */
export interface GatherResult {
  contributions: Contribution[]
  saved: Savings | null
  /** The decision of `solo_first`. */
  decision?: { collaborated: boolean; reason: string }
  /** Session of the coordinator in hierarchical mode. */
  coordinator?: string
  problems: string[]
  error?: ErrorRecord
}

const FIRST_AGENT_FAILED = { more: true, reason: 'the first agent failed' }

export async function gatherContributions(collaboration: Collaboration): Promise<GatherResult> {
  const { contributionScope, input, mode, limits, specialists } = collaboration
  if (mode === 'hierarchical') {
    const coordinatorFirst = specialists as [Specialist, ...Specialist[]]
    const { session_id, ...result } = await runHierarchy(contributionScope, coordinatorFirst, limits.max_parallel)
    return { ...result, saved: null, ...(session_id === undefined ? undefined : { coordinator: session_id }) }
  }
  const [first, ...others] = specialists
  if (!input.solo_first || !first || others.length === 0) {
    return { ...(await askSpecialists(collaboration, specialists, [])), problems: [] }
  }
  const solo = await requestContribution(contributionScope, first, specialistRequest(first))
  if (isOutOfBudget(solo)) return { contributions: [solo], saved: null, problems: [] }
  const { more, reason } = solo.error ? FIRST_AGENT_FAILED : await decideToCollaborate(collaboration, solo, others)
  const decision = { collaborated: more, reason }
  if (more) return { ...(await askSpecialists(collaboration, others, [solo])), decision, problems: [] }
  const saved = { agents: others.map(({ name }) => name), calls: others.length, why: 'solo' as const }
  return { contributions: [solo], saved, decision, problems: [] }
}

/** The answers of others, who were asked because the first agent had failed before resume retried it, count. */
async function decideToCollaborate(
  { context, input }: Collaboration,
  solo: Contribution,
  others: readonly Specialist[],
): Promise<{ more: boolean; reason: string }> {
  const { retries } = context.earlierWork([specialistRequest({ name: solo.agent }).key])
  if (retries > 0 && (await wereAsked(context, 'solo/continued', others))) return FIRST_AGENT_FAILED
  return shouldCollaborate(input.task, solo)
}

async function askSpecialists(
  collaboration: Collaboration,
  specialists: readonly Specialist[],
  earlier: readonly Contribution[],
) {
  const { contributionScope, mode, limits, input, voteGrouping } = collaboration
  if (mode === 'sequential')
    return { contributions: await askSequentially(contributionScope, specialists, earlier), saved: null }
  const { stop_at } = input.vote ?? {}
  const waves = waveSizes({ ...collaboration, max_parallel: limits.max_parallel })
  if (waves === undefined) {
    return {
      contributions: [...earlier, ...(await askInParallel(contributionScope, specialists, limits.max_parallel))],
      saved: null,
    }
  }
  return askInWaves(contributionScope, specialists, {
    max_parallel: limits.max_parallel,
    waves,
    grouping: voteGrouping,
    judge: collaboration.judge,
    earlier,
    ...(stop_at === undefined ? undefined : { stop_at }),
  })
}
