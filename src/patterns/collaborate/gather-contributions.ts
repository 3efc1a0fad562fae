import type { ErrorRecord } from '../../errors.ts'
import { shouldCollaborate } from '../../judgement/vote/should-collaborate.ts'
import { runHierarchy } from './hierarchy.ts'
import { isOutOfBudget } from './out-of-budget.ts'
import type { Contribution } from './output.ts'
import type { Collaboration } from './prepare-collaboration.ts'
import { requestContribution } from './request-contribution.ts'
import type { Specialist } from './specialists.ts'
import { waveSize } from './wave-order.ts'
import type { Savings } from './waves.ts'
import { runParallel, runSequential, runWaves, specialistRequest } from './waves.ts'

/** What the specialists said, and how it came that some were not asked. */
export interface GatherResult {
  contributions: Contribution[]
  saved: Savings | null
  /** Whether others were asked beside the first, and why, where that was a question. */
  decision?: { collaborated: boolean; reason: string }
  /** The session of the coordinator, where one divided the work. */
  coordinator?: string
  problems: string[]
  error?: ErrorRecord
}

const FIRST_AGENT_FAILED = { more: true, reason: 'the first agent could not answer' }

export async function gatherContributions(job: Collaboration): Promise<GatherResult> {
  const { contributionContext, mode, limits, specialists } = job
  if (mode === 'hierarchical') {
    const all = specialists as [Specialist, ...Specialist[]]
    const { session_id, ...found } = await runHierarchy(contributionContext, all, limits.max_parallel)
    return { ...found, saved: null, ...(session_id === undefined ? undefined : { coordinator: session_id }) }
  }
  const [first, ...others] = specialists
  if (!job.input.solo_first || !first || others.length === 0) {
    return { ...(await askSpecialists(job, specialists, [])), problems: [] }
  }
  const alone = await requestContribution(contributionContext, first, specialistRequest(first))
  if (isOutOfBudget(alone)) return { contributions: [alone], saved: null, problems: [] }
  const { more, reason } = alone.error ? FIRST_AGENT_FAILED : shouldCollaborate(job.input.task, alone)
  const decision = { collaborated: more, reason }
  if (more) return { ...(await askSpecialists(job, others, [alone])), decision, problems: [] }
  const saved = { agents: others.map(({ name }) => name), calls: others.length, why: 'solo' as const }
  return { contributions: [alone], saved, decision, problems: [] }
}

async function askSpecialists(job: Collaboration, specialists: readonly Specialist[], known: readonly Contribution[]) {
  const { contributionContext, mode, limits, input, voteGrouping } = job
  if (mode === 'sequential')
    return { contributions: await runSequential(contributionContext, specialists, known), saved: null }
  const { stop_at } = input.vote ?? {}
  const wave = waveSize({ ...job, max_parallel: limits.max_parallel })
  if (wave === undefined) {
    return {
      contributions: [...known, ...(await runParallel(contributionContext, specialists, limits.max_parallel))],
      saved: null,
    }
  }
  return runWaves(contributionContext, specialists, {
    max_parallel: limits.max_parallel,
    wave,
    grouping: voteGrouping,
    known,
    ...(stop_at === undefined ? undefined : { stop_at }),
  })
}
