import { z } from 'zod'
import { TroupeError } from '../../errors.ts'
import { formatIssues } from '../../kernel/schema.ts'
import { durationSchema } from './duration.ts'
import { collaborateModes, collaborateSyntheses } from './input.ts'

/** What a troupe sets for all collaborations; one call may ask for less, and its operator for more. */
export interface CollaborateConfig {
  default_mode: (typeof collaborateModes)[number]
  default_synthesis: (typeof collaborateSyntheses)[number]
  max_agents: number
  max_parallel: number
  /** Such as `300s`. */
  agent_timeout: string | number
  coordinator: { model?: string; temperature: number }
  /** From this share of the voices on, they agree. */
  consensus_threshold: number
}

export const DEFAULT_COLLABORATE_CONFIG: CollaborateConfig = Object.freeze({
  default_mode: 'parallel',
  default_synthesis: 'coordinator',
  max_agents: 5,
  max_parallel: 3,
  agent_timeout: '300s',
  coordinator: Object.freeze({ temperature: 0.3 }),
  consensus_threshold: 0.66,
})

const configSchema = z.strictObject({
  default_mode: z.enum(collaborateModes),
  default_synthesis: z.enum(collaborateSyntheses),
  max_agents: z.int().min(1),
  max_parallel: z.int().min(1),
  agent_timeout: durationSchema,
  coordinator: z.strictObject({ model: z.string().min(1).optional(), temperature: z.number().min(0).max(2) }),
  consensus_threshold: z.number().gt(0).max(1),
})

/** A troupe's own settings, checked and completed. */
export function parseCollaborateConfig(own: Partial<CollaborateConfig>): CollaborateConfig {
  const coordinator = { ...DEFAULT_COLLABORATE_CONFIG.coordinator, ...own.coordinator }
  const parsed = configSchema.safeParse({ ...DEFAULT_COLLABORATE_CONFIG, ...own, coordinator })
  if (parsed.success) {
    const { model, temperature } = parsed.data.coordinator
    return { ...parsed.data, coordinator: { temperature, ...(model === undefined ? undefined : { model }) } }
  }
  const known = Object.keys(configSchema.shape)
  throw new TroupeError('invalid_input', `the settings of collaborate do not fit: ${formatIssues(parsed.error)}`, {
    alternatives: known,
    hint: `settings are: ${known.join(', ')}`,
  })
}
