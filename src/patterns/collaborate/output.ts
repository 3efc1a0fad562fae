import { z } from 'zod'
import type { ErrorRecord } from '../../errors.ts'
import type { Severity } from '../../judgement/vote/consensus.ts'
import { severities } from '../../judgement/vote/consensus.ts'

export interface Concern {
  concern: string
  severity: Severity
}

/** What one specialist had to say. */
export interface Contribution {
  agent: string
  role: string
  response: string
  /** `null` where it was not given. */
  recommendation: string | null
  confidence: number | null
  concerns: Concern[]
  questions: string[]
  /** What its voice counts for, before its confidence. */
  weight?: number
  tokens_used: number
  status: 'completed' | 'partial' | 'timeout' | 'failed'
  session_id?: string
  /** Its part of the work, where it was divided. */
  subtask?: string
  /** What it had said before it heard the others. */
  before?: { recommendation: string | null; confidence: number | null }
  cached?: true
  /** What the answer had cost when it was given, where it was there already. */
  saved_tokens?: number
  error?: ErrorRecord
}

export function hasContent({ response, recommendation, concerns }: Contribution): boolean {
  return response.trim() !== '' || recommendation !== null || concerns.length > 0
}

/** What it said; where it gave no words with its choice, the choice and the concerns. */
export function contributionText({ response, recommendation, concerns }: Contribution): string {
  if (response.trim() !== '') return response
  return [
    ...(recommendation === null ? [] : [recommendation]),
    ...concerns.map(({ concern: text, severity }) => `- ${severity}: ${text}`),
  ].join('\n')
}

/** How an evaluator scored the answers. */
export interface BestOfEvaluation {
  index: number
  agent: string
  reason: string
  scores: { agent: string; score: number; reason: string }[]
  /** Those that share the highest score, where several do. */
  tied?: string[]
}

const concernSchema = z.union([
  z.object({ concern: z.string().min(1), severity: z.enum(severities) }),
  // Models write bare sentences too.
  z.string().min(1),
])

const schemaCache = new Map<string, ReturnType<typeof buildContributionSchema>>()

/**
 * What specialists are asked for. With categories, nothing else can be recommended. Made once for each list of them:
 * a schema and its JSON cost as much as several specialists.
 */
export function contributionSchema(
  categories: readonly string[] | undefined,
): ReturnType<typeof buildContributionSchema> {
  const list = JSON.stringify(categories ?? null)
  let form = schemaCache.get(list)
  if (!form) {
    form = buildContributionSchema(categories)
    if (schemaCache.size > 100) schemaCache.clear()
    schemaCache.set(list, form)
  }
  return form
}

function buildContributionSchema(categories: readonly string[] | undefined) {
  return z.object({
    response: z.string().describe('Your analysis, for people to read.'),
    recommendation: categories
      ? z.enum([...categories]).describe('Your choice.')
      : z.string().describe('What you recommend, in one short sentence.'),
    confidence: z.number().min(0).max(1).describe('How sure you are, 0 to 1.'),
    concerns: z.array(concernSchema).default([]).describe('Each with severity minor, moderate or critical.'),
    questions: z.array(z.string()).default([]).describe('What you would need to know.'),
  })
}

const positionsSchema = z.array(z.object({ recommendation: z.string(), agents: z.array(z.string()) }))

const consensusSchema = z.looseObject({
  agents_count: z.int(),
  has_consensus: z.boolean(),
  agreement_score: z.number().nullable(),
  consensus_score: z.number().nullable(),
  key_agreements: z.array(z.string()),
  key_disagreements: z.array(z.object({ topic: z.string(), positions: positionsSchema, severity: z.enum(severities) })),
  supporting: z.array(z.string()),
  dissenting: z.array(z.string()),
  minority_report: z.array(z.looseObject({ agents: z.array(z.string()), recommendation: z.string() })),
})

export const collaborateOutput = z.looseObject({
  result: z.string(),
  contributions: z.array(z.looseObject({ agent: z.string(), role: z.string(), response: z.string() })),
  consensus: consensusSchema,
  metadata: z.looseObject({
    agents_count: z.int(),
    mode: z.string(),
    synthesis: z.string(),
    status: z.enum(['completed', 'partial']),
    duration_ms: z.number(),
    total_tokens: z.int(),
    cost: z.number().nullable(),
  }),
})
