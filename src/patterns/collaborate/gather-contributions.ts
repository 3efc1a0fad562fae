import type { ErrorRecord } from '../../errors.ts'
import type { Savings } from './ask-specialists.ts'
import { askInParallel, askInWaves, askSequentially, waveSizes } from './ask-specialists.ts'
import { runHierarchy } from './hierarchy.ts'
import type { Collaboration } from './input/prepare-collaboration.ts'
import type { Contribution } from './output.ts'
import type { Specialist } from './specialists.ts'

/** The contributions, and the reason if some specialists were not asked. */
export interface GatherResult {
  contributions: Contribution[]
  saved: Savings | null
  /** Session of the coordinator in hierarchical mode. */
  coordinator?: string
  problems: string[]
  error?: ErrorRecord
}

export async function gatherContributions(collaboration: Collaboration): Promise<GatherResult> {
  const { contributionScope, mode, limits, specialists } = collaboration
  if (mode === 'hierarchical') {
    const coordinatorFirst = specialists as [Specialist, ...Specialist[]]
    const { session_id, ...result } = await runHierarchy(contributionScope, coordinatorFirst, limits.max_parallel)
    return { ...result, saved: null, ...(session_id === undefined ? undefined : { coordinator: session_id }) }
  }
  return { ...(await askSpecialists(collaboration)), problems: [] }
}

async function askSpecialists(collaboration: Collaboration): Promise<Omit<GatherResult, 'problems'>> {
  const { contributionScope, mode, limits, input, voteGrouping, specialists, judge } = collaboration
  const { max_parallel } = limits
  if (mode === 'sequential')
    return { contributions: await askSequentially(contributionScope, specialists), saved: null }
  const { stop_at } = input.vote ?? {}
  const waves = waveSizes({ ...collaboration, max_parallel })
  if (waves === undefined)
    return { contributions: await askInParallel(contributionScope, specialists, max_parallel), saved: null }
  return askInWaves(contributionScope, specialists, {
    ...{ max_parallel, waves, judge, grouping: voteGrouping },
    ...(stop_at === undefined ? undefined : { stop_at }),
  })
}
