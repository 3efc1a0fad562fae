import { attachmentSchema } from '../../../kernel/attachment-schema.ts'
import { modelInputOf, setBy } from '../../../schema/input-forms.ts'
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

/** What a model names beside an agent: it is accepted as programs write it, and not described. */
const OBJECT = z.record(z.string(), z.unknown()).optional()

const mode = z.enum(collaborateModes).optional()
const synthesis = z.enum(collaborateSyntheses).optional()
const categories = z.array(z.string().min(1)).min(2).optional()

/** Callers from outside choose no models, tools and limits: those are the operator's choice. */
export const collaborateInput = z.strictObject({
  agents: setBy(
    z
      .array(z.union([z.string().min(1), specialistSchema]))
      .describe('Two to five specialists: names of known agents, or {name, role, focus, config}.'),
    {
      request: z
        .array(z.union([z.string().min(1), specialistSchema.omit({ config: true })]))
        .describe('Two to five specialists: names of known agents, or {name, role, focus}.'),
    },
  ),
  task: setBy(z.string().describe('For all specialists, with everything they need to know.'), { model: z.string() }),
  mode: setBy(
    mode.describe('sequential: each sees the contributions before it; hierarchical: the first divides the work.'),
    { model: mode },
  ),
  synthesis: setBy(
    synthesis.describe(
      'coordinator: one agent writes the answer; merge: all answers; best_of: the best one; auto: vote or coordinator.',
    ),
    { model: z.enum(collaborateSyntheses).exclude(['auto']).optional() },
  ),
  categories: setBy(categories.describe('The only possible recommendations, such as approve and reject.'), {
    model: categories.describe('Of a vote, such as approve and reject.'),
  }),
  coordinator_config: setBy(agentConfigSchema.optional().describe('For the agent that writes or scores the answers.'), {
    request: false,
    model: OBJECT,
  }),
  context: setBy(z.record(z.string(), z.unknown()).optional().describe('Facts for all specialists.'), {
    model: OBJECT,
  }),
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
  quorum: z
    .number()
    .gt(0)
    .max(1)
    .optional()
    .describe('The share of the specialists that have to answer, or the run fails; 1 for gates. Default: 0.5.'),
  on_conflict: z
    .enum(['surface', 'mediate', 'escalate'])
    .default('surface')
    .describe(
      'On disagreement, surface: report it; mediate: one round in which each side reads the others; escalate: ask a person.',
    ),
  structured: z.boolean().default(true).describe('Request recommendation, confidence and concerns, not only text.'),
  cache: z.boolean().default(false).describe('Reuse answers to identical earlier requests, of read-only agents.'),
  limits: setBy(
    z
      .strictObject({
        max_agents: z.int().min(1).optional(),
        max_parallel: z.int().min(1).optional(),
        agent_timeout: durationSchema.optional().describe('The timeout of one agent, such as 300s.'),
      })
      .optional(),
    { request: false },
  ),
  attachments: z
    .array(attachmentSchema)
    .optional()
    .describe('Files for all specialists: images, PDF, text. On the command line: --attach FILE.'),
})

export type CollaborateInput = z.output<typeof collaborateInput>

/** The input that an agent sees, with the agents it may use as an enum. */
export function collaborateInputFor(names: readonly string[]): Schema {
  return modelInputOf(collaborateInput, names.join('\n'), () => {
    const text = z.string().optional()
    const newSpecialist = z.strictObject({ name: z.string(), role: text, focus: text, config: OBJECT })
    const entry = names.length > 0 ? z.union([z.enum([...names]), newSpecialist]) : newSpecialist
    return { agents: z.array(entry).describe('Known agents, or new ones with a role.') }
  })
}
