import { attachmentSchema } from '../../../kernel/attachment-schema.ts'
import type { Schema } from '../../../schema/standard-schema.ts'
import * as z from '../../../schema/zod.ts'
import { durationSchema } from '../view/duration.ts'

export const collaborateModes = ['parallel', 'sequential', 'hierarchical'] as const
export const collaborateSyntheses = ['coordinator', 'vote', 'merge', 'best_of', 'auto'] as const

/** Agent configuration in the format other hosts use, such as `providers: [{module: provider-anthropic, config}]`. */
export const agentConfigSchema = z.looseObject({
  model: z.string().optional().describe('A model (provider/model) or a model role: fast, general, reasoning.'),
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
  name: z.string().min(1).describe('An identifier, or the name of a known agent.'),
  role: z.string().min(1).optional().describe('Such as security.'),
  focus: z.string().optional().describe('What to look at.'),
  config: agentConfigSchema.optional().describe('Model, temperature, tools, system_prompt.'),
})

export type SpecialistEntry = string | z.output<typeof specialistSchema>

const weightSchema = z.number().min(0).max(1000)

const fields = {
  task: z.string().describe('For all specialists, with everything they need to know.'),
  mode: z
    .enum(collaborateModes)
    .optional()
    .describe('sequential: each sees the contributions before it; hierarchical: the first divides the work.'),
  synthesis: z
    .enum(collaborateSyntheses)
    .optional()
    .describe(
      'coordinator: one agent writes the answer; merge: all answers; best_of: the best one; auto: vote or coordinator.',
    ),
  coordinator_config: agentConfigSchema.optional().describe('For the agent that writes or scores the answers.'),
  context: z.record(z.string(), z.unknown()).optional().describe('Facts for all specialists.'),
  categories: z
    .array(z.string().min(1))
    .min(2)
    .optional()
    .describe('The only possible recommendations, such as approve and reject.'),
  criteria: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe('The criteria of best_of.'),
  vote: z
    .strictObject({
      strategy: z.enum(['weighted', 'unanimous', 'veto']).default('weighted'),
      stop_at: z
        .number()
        .gt(0.5)
        .lt(1)
        .optional()
        .describe('Stop once the leader is this likely to win, such as 0.95.'),
      wave: z
        .int()
        .min(1)
        .optional()
        .describe(
          'The number of agents asked before votes are counted. Default: max_parallel; with stop_at as many as can stop.',
        ),
    })
    .optional(),
  weights: z
    .record(z.string(), weightSchema)
    .optional()
    .describe('The weight of a role or name in a vote. Default: 1.'),
  consensus_threshold: z.number().gt(0).max(1).optional().describe('The share of votes that counts as consensus.'),
  on_conflict: z
    .enum(['surface', 'mediate', 'escalate'])
    .default('surface')
    .describe(
      'On disagreement, surface: report it; mediate: one round in which each side reads the others; escalate: ask a person.',
    ),
  structured: z.boolean().default(true).describe('Request recommendation, confidence and concerns, not only text.'),
  cache: z.boolean().default(false).describe('Reuse answers to identical earlier requests, of read-only agents.'),
  limits: z
    .strictObject({
      max_agents: z.int().min(1).optional(),
      max_parallel: z.int().min(1).optional(),
      agent_timeout: durationSchema.optional().describe('The timeout of one agent, such as 300s.'),
    })
    .optional(),
}

const AGENTS_DESCRIPTION = 'Two to five specialists: names of known agents, or {name, role, focus, config}.'

export const collaborateInput = z.strictObject({
  agents: z.array(z.union([z.string().min(1), specialistSchema])).describe(AGENTS_DESCRIPTION),
  ...fields,
  attachments: z
    .array(attachmentSchema)
    .optional()
    .describe('Files for all specialists: images, PDF, text. On the command line: --attach FILE.'),
})

/** The input that remote callers may give: models, tools and limits are the operator's choice. */
export const collaborateRequestInput = collaborateInput.omit({ coordinator_config: true, limits: true }).extend({
  agents: z
    .array(z.union([z.string().min(1), specialistSchema.omit({ config: true })]))
    .describe('Two to five specialists: names of known agents, or {name, role, focus}.'),
})

export type CollaborateInput = z.output<typeof collaborateInput>

const inputSchemaCache = new Map<string, Schema>()

/**
 * The input schema that an agent sees, with the agents it may use as an enum. Every turn of every agent that has the tool pays for
 * it, so that it has only what a model chooses; the other fields are accepted, too. Cached per list of names.
 */
export function collaborateInputFor(names: readonly string[]): Schema {
  const cacheKey = names.join('\n')
  let schema = inputSchemaCache.get(cacheKey)
  if (!schema) {
    const text = z.string().optional()
    const object = z.record(z.string(), z.unknown()).optional()
    const newSpecialist = z.strictObject({ name: z.string(), role: text, focus: text, config: object })
    const entry = names.length > 0 ? z.union([z.enum([...names]), newSpecialist]) : newSpecialist
    schema = z.strictObject({
      agents: z.array(entry).describe('Known agents, or new ones with a role.'),
      task: z.string(),
      mode: z.enum(collaborateModes).optional(),
      synthesis: z.enum(collaborateSyntheses).exclude(['auto']).optional(),
      categories: fields.categories.describe('Of a vote, such as approve and reject.'),
      coordinator_config: object,
      context: object,
    })
    if (inputSchemaCache.size > 100) inputSchemaCache.clear()
    inputSchemaCache.set(cacheKey, schema)
  }
  return schema
}
