import type { ErrorRecord } from '../../errors.ts'
import { worthMore } from '../../judgement/solo.ts'
import { outOfBudget } from './budget.ts'
import { contribute } from './contribute.ts'
import { divided } from './hierarchy.ts'
import type { Job } from './job.ts'
import type { Contribution } from './output.ts'
import type { Specialist } from './specialists.ts'
import { waveSize } from './wave-order.ts'
import type { Saved } from './waves.ts'
import { atOnce, inTurn, inWaves, questionTo } from './waves.ts'

/** What the specialists said, and how it came that some were not asked. */
export interface Said {
  contributions: Contribution[]
  saved: Saved | null
  /** Whether others were asked beside the first, and why, where that was a question. */
  decision?: { collaborated: boolean; reason: string }
  /** The session of the coordinator, where one divided the work. */
  coordinator?: string
  problems: string[]
  error?: ErrorRecord
}

const FAILED = { more: true, reason: 'the first agent could not answer' }

export async function gathered(job: Job): Promise<Said> {
  const { site, mode, bounds, specialists } = job
  if (mode === 'hierarchical') {
    const all = specialists as [Specialist, ...Specialist[]]
    const { session_id, ...found } = await divided(site, all, bounds.max_parallel)
    return { ...found, saved: null, ...(session_id === undefined ? undefined : { coordinator: session_id }) }
  }
  const [first, ...others] = specialists
  if (!job.input.solo_first || !first || others.length === 0) {
    return { ...(await everybody(job, specialists, [])), problems: [] }
  }
  const alone = await contribute(site, first, questionTo(first))
  if (outOfBudget(alone)) return { contributions: [alone], saved: null, problems: [] }
  const { more, reason } = alone.error ? FAILED : worthMore(job.input.task, alone)
  const decision = { collaborated: more, reason }
  if (more) return { ...(await everybody(job, others, [alone])), decision, problems: [] }
  const saved = { agents: others.map(({ name }) => name), calls: others.length, why: 'solo' as const }
  return { contributions: [alone], saved, decision, problems: [] }
}

async function everybody(job: Job, specialists: readonly Specialist[], known: readonly Contribution[]) {
  const { site, mode, bounds, input, grouping } = job
  if (mode === 'sequential') return { contributions: await inTurn(site, specialists, known), saved: null }
  const { stop_at } = input.vote ?? {}
  const wave = waveSize({ ...job, max_parallel: bounds.max_parallel })
  if (wave === undefined) {
    return { contributions: [...known, ...(await atOnce(site, specialists, bounds.max_parallel))], saved: null }
  }
  return inWaves(site, specialists, {
    max_parallel: bounds.max_parallel,
    wave,
    grouping,
    known,
    ...(stop_at === undefined ? undefined : { stop_at }),
  })
}
