import type { Spend } from '../../kernel/spend.ts'
import { sumUsd } from '../../kernel/spend.ts'
import type { Collaboration } from './input/prepare-collaboration.ts'

/** The savings by agents' own models, compared with the coordinator's model for all agents. */
export interface ModelSavings {
  /** The model of the coordinator; `null` if there is none. */
  baseline_model: string | null
  /** In US dollars, for the same tokens; `null` if the price of that model is unknown. */
  baseline_cost: number | null
  /** `baseline_cost` less `cost`: negative if the agents' models are dearer; `null` if a price is unknown. */
  saved: number | null
  /** Why `saved` is `null`. */
  reason?: string
}

/** `undefined` if no agent or subtask can have a model of its own, so that there is nothing to compare. */
export async function modelSavings(
  { context, mode, specialists, systemAgents }: Collaboration,
  key: string,
  spent: Spend,
): Promise<ModelSavings | undefined> {
  const hasOwnModels = specialists.some(({ agent }) => agent.model !== undefined)
  if (!hasOwnModels && mode !== 'hierarchical') return undefined
  // In hierarchical mode the first agent is the coordinator.
  const coordinator = mode === 'hierarchical' ? specialists[0]?.agent : systemAgents.coordinator
  const { input, output, cache_read, cache_write, reasoning } = spent
  const usage = { input, output, cache_read, cache_write, reasoning }
  const { model, usd } = await context.priceUsage(key, usage, coordinator?.model)
  const baseline = { baseline_model: model, baseline_cost: usd }
  if (spent.usd === null) return { ...baseline, saved: null, reason: 'the price of a model that was used is unknown' }
  if (usd === null) return { ...baseline, saved: null, reason: `the price of ${model ?? 'the coordinator'} is unknown` }
  const saved = sumUsd(usd, -spent.usd)
  // Without a difference all of them used models of the same price.
  return saved === 0 ? undefined : { ...baseline, baseline_cost: sumUsd(usd), saved }
}
