import { z } from 'zod'
import { durationSchema } from './duration.ts'

export const collaborateModes = ['parallel', 'sequential', 'hierarchical'] as const
export const collaborateSyntheses = ['coordinator', 'vote', 'merge', 'best_of', 'auto'] as const

/** Model, temperature and tools as other hosts write them: `providers: [{module: provider-anthropic, config}]`. */
export const agentConfigSchema = z.looseObject({
  model: z.string().optional().describe('A model (provider/model) or a role: fast, general, reasoning.'),
  temperature: z.number().min(0).max(2).optional(),
  system_prompt: z.string().optional(),
  tools: z.array(z.union([z.string(), z.looseObject({ module: z.string() })])).optional(),
  providers: z
    .array(
      z.looseObject({
        module: z.string(),
        source: z.string().optional(),
        config: z
          .looseObject({ model: z.string().optional(), temperature: z.number().min(0).max(2).optional() })
          .optional(),
      }),
    )
    .optional(),
})

export type AgentConfig = z.output<typeof agentConfigSchema>

const specialistSchema = z.strictObject({
  name: z.string().min(1).describe('An identifier; the name of a known agent means that agent.'),
  role: z.string().min(1).optional().describe('The specialist role, such as security.'),
  focus: z.string().optional().describe('What this one is to look at.'),
  config: agentConfigSchema.optional().describe('Model, temperature, tools, system_prompt.'),
})

export type SpecialistEntry = string | z.output<typeof specialistSchema>

const weightSchema = z.number().min(0).max(1000)

const fields = {
  task: z.string().describe('The question or task that all work on, with all they need to know.'),
  mode: z
    .enum(collaborateModes)
    .optional()
    .describe('At once and apart; one after the other, each seeing what was said; or the first divides the work.'),
  synthesis: z
    .enum(collaborateSyntheses)
    .optional()
    .describe(
      'One writes the answer; a vote; all answers as they are; the best one; or auto: a vote where they can, else one.',
    ),
  coordinator_config: agentConfigSchema.optional().describe('For the one who writes or scores the answers.'),
  context: z.record(z.string(), z.unknown()).optional().describe('Facts that all are given.'),
  categories: z
    .array(z.string().min(1))
    .min(2)
    .optional()
    .describe('The only recommendations there can be, such as approve and reject.'),
  criteria: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe('What best_of judges by.'),
  vote: z
    .strictObject({
      strategy: z.enum(['weighted', 'unanimous', 'veto']).default('weighted'),
      stop_at: z
        .number()
        .gt(0.5)
        .lt(1)
        .optional()
        .describe('Ask no more once the leader is this likely to win, such as 0.95.'),
      wave: z.int().min(1).optional().describe('How many are asked before it is counted. Default: max_parallel.'),
    })
    .optional(),
  weights: z
    .record(z.string(), weightSchema)
    .optional()
    .describe('How much a role or a name counts in a vote. Default 1.'),
  consensus_threshold: z.number().gt(0).max(1).optional().describe('The share of voices that counts as agreement.'),
  on_conflict: z
    .enum(['surface', 'mediate', 'escalate'])
    .default('surface')
    .describe('When they disagree: say so; let them hear each other once; or ask a person.'),
  solo_first: z
    .boolean()
    .default(false)
    .describe('Ask the first agent alone, and stop there if more would be a waste.'),
  structured: z.boolean().default(true).describe('Ask for recommendation, confidence and concerns, not only for text.'),
  cache: z.boolean().default(false).describe('Use earlier answers to exactly this, of agents that only read.'),
  limits: z
    .strictObject({
      max_agents: z.int().min(1).optional(),
      max_parallel: z.int().min(1).optional(),
      agent_timeout: durationSchema.optional().describe('For one agent, such as 300s.'),
    })
    .optional(),
}

const AGENTS_DESCRIPTION = 'Two to five specialists: names of known agents, or {name, role, focus, config}.'

export const collaborateInput = z.strictObject({
  agents: z.array(z.union([z.string().min(1), specialistSchema])).describe(AGENTS_DESCRIPTION),
  ...fields,
})

export type CollaborateInput = z.output<typeof collaborateInput>

const inputSchemaCache = new Map<string, typeof collaborateInput>()

/** The input as one caller sees it: known agents by name, or new ones. Made once per list of names. */
export function collaborateInputFor(names: readonly string[]): typeof collaborateInput {
  const list = names.join('\n')
  let schema = inputSchemaCache.get(list)
  if (!schema) {
    const entry = names.length > 0 ? z.union([z.enum([...names]), specialistSchema]) : specialistSchema
    schema = z.strictObject({
      agents: z.array(entry).describe(AGENTS_DESCRIPTION),
      ...fields,
    }) as unknown as typeof collaborateInput
    if (inputSchemaCache.size > 100) inputSchemaCache.clear()
    inputSchemaCache.set(list, schema)
  }
  return schema
}
