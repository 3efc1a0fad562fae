import type { CollaborateInput, collaborateModes, collaborateSyntheses } from './input.ts'

interface WavePlan {
  input: Pick<CollaborateInput, 'vote' | 'structured' | 'solo_first'>
  mode: (typeof collaborateModes)[number]
  synthesis: (typeof collaborateSyntheses)[number]
  max_parallel: number
}

/** How many are asked before it is looked whether that is enough; undefined where everybody is asked anyway. */
export function waveSize({ input, mode, synthesis, max_parallel }: WavePlan): number | undefined {
  const { strategy = 'weighted', wave = max_parallel } = input.vote ?? {}
  const counts = synthesis === 'vote' || (synthesis === 'auto' && input.structured)
  return mode === 'parallel' && counts && strategy === 'weighted' ? wave : undefined
}

/**
 * In which wave each speaks. Who is asked later, or has heard the others, must not change who of those before stands with
 * whom.
 */
export function waveOrder(names: readonly string[], course: WavePlan): (agent: string) => number {
  const size = waveSize(course)
  // The one that was asked alone is counted with the first wave.
  const alone = course.input.solo_first ? 1 : 0
  return (agent) => {
    const place = Math.max(0, names.indexOf(agent))
    if (course.mode === 'sequential') return place
    return size === undefined ? 0 : Math.floor(Math.max(0, place - alone) / size)
  }
}
