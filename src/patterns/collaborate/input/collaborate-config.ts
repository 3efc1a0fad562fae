import { TroupeError } from '../../../errors.ts'
import { formatIssues } from '../../../schema/schema.ts'
import * as z from '../../../schema/zod.ts'
import { durationSchema } from '../view/duration.ts'
import { collaborateModes, collaborateSyntheses } from './input.ts'

/** Defaults for all collaborations (`createTroupe({ collaborate })`). */
export interface CollaborateConfig {
  default_mode: (typeof collaborateModes)[number]
  default_synthesis: (typeof collaborateSyntheses)[number]
  max_agents: number
  max_parallel: number
  /** For example `300s`. */
  agent_timeout: string | number
  coordinator: { model?: string; temperature: number }
  /** The share of votes that counts as consensus. */
  consensus_threshold: number
  /** The share of the specialists that have to answer. */
  quorum: number
}

/** The settings that a program or a configuration file gives; the others have defaults. */
export type CollaborateSettings = Partial<Omit<CollaborateConfig, 'coordinator'>> & {
  coordinator?: Partial<CollaborateConfig['coordinator']>
}

export const DEFAULT_COLLABORATE_CONFIG: CollaborateConfig = Object.freeze({
  default_mode: 'parallel',
  default_synthesis: 'coordinator',
  max_agents: 5,
  max_parallel: 3,
  agent_timeout: '300s',
  coordinator: Object.freeze({ temperature: 0.3 }),
  consensus_threshold: 0.66,
  quorum: 0.5,
})

const configSchema = z.strictObject({
  default_mode: z.enum(collaborateModes),
  default_synthesis: z.enum(collaborateSyntheses),
  max_agents: z.int().min(1),
  max_parallel: z.int().min(1),
  agent_timeout: durationSchema,
  coordinator: z.strictObject({ model: z.string().min(1).optional(), temperature: z.number().min(0).max(2) }),
  consensus_threshold: z.number().gt(0).max(1),
  quorum: z.number().gt(0).max(1),
})

/** The settings that `createTroupe` and configuration files may give. */
export const collaborateSettings = configSchema
  .extend({ coordinator: configSchema.shape.coordinator.partial() })
  .partial()

/** Validates `createTroupe({ collaborate })` and fills in the defaults. */
export function parseCollaborateConfig(config: CollaborateSettings): CollaborateConfig {
  const coordinator = { ...DEFAULT_COLLABORATE_CONFIG.coordinator, ...config.coordinator }
  const parsed = configSchema.safeParse({ ...DEFAULT_COLLABORATE_CONFIG, ...config, coordinator })
  if (parsed.success) {
    const { model, temperature } = parsed.data.coordinator
    return { ...parsed.data, coordinator: { temperature, ...(model === undefined ? undefined : { model }) } }
  }
  const known = Object.keys(configSchema.shape)
  throw new TroupeError('invalid_input', `option \`collaborate\` is invalid: ${formatIssues(parsed.error)}`, {
    alternatives: known,
    hint: `the settings are: ${known.join(', ')}`,
  })
}
