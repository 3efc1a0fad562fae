import type { CollaborateInput, collaborateModes, collaborateSyntheses } from './input.ts'

interface WavePlan {
  input: Pick<CollaborateInput, 'vote' | 'structured' | 'solo_first'>
  mode: (typeof collaborateModes)[number]
  synthesis: (typeof collaborateSyntheses)[number]
  max_parallel: number
}

/** The number of agents per wave; `undefined` if all agents are asked in any case. */
export function waveSize({ input, mode, synthesis, max_parallel }: WavePlan): number | undefined {
  const { strategy = 'weighted', wave = max_parallel } = input.vote ?? {}
  const isVote = synthesis === 'vote' || (synthesis === 'auto' && input.structured)
  return mode === 'parallel' && isVote && strategy === 'weighted' ? wave : undefined
}

/** The wave of each agent. Votes of a later wave must not change the groups of earlier ones. */
export function waveOrder(names: readonly string[], plan: WavePlan): (agent: string) => number {
  const size = waveSize(plan)
  // The agent of `solo_first` belongs to the first wave.
  const soloCount = plan.input.solo_first ? 1 : 0
  return (agent) => {
    const position = Math.max(0, names.indexOf(agent))
    if (plan.mode === 'sequential') return position
    return size === undefined ? 0 : Math.floor(Math.max(0, position - soloCount) / size)
  }
}
