import type { ErrorRecord } from '../../errors.ts'
import type { Severity } from '../../judgement/vote/severity.ts'
import { severities } from '../../judgement/vote/severity.ts'
import { hasWords } from '../../requests/shown-marks.ts'
import * as z from '../../schema/zod.ts'

export interface Concern {
  concern: string
  severity: Severity
}

/** The parsed content of an answer. */
export interface ContributionContent {
  response: string
  /** `null` if there is none. */
  recommendation: string | null
  confidence: number | null
  concerns: Concern[]
  questions: string[]
  /** Parts of the answer that were ignored, such as a confidence out of range. */
  notes?: string[]
}

/** The answer of one specialist. */
export interface Contribution extends ContributionContent {
  agent: string
  role: string
  /** The weight of its vote, without its confidence. */
  weight?: number
  tokens_used: number
  status: 'completed' | 'partial' | 'timeout' | 'failed'
  session_id?: string
  /** Set in hierarchical mode. */
  subtask?: string
  /** Its position before mediation. */
  before?: { recommendation: string | null; confidence: number | null }
  cached?: true
  /** Set when the recommendation was extracted from an answer in prose. */
  extracted?: true
  /** The tokens of a cached answer. */
  saved_tokens?: number
  error?: ErrorRecord
}

/** Punctuation and chat-template marks alone, such as `<|system|>`, are no content. */
export function hasContent({ response, recommendation, concerns }: Contribution): boolean {
  return hasWords(response) || recommendation !== null || concerns.length > 0
}

/** The response, or the recommendation and concerns if there is no text. */
export function contributionText({ response, recommendation, concerns }: Contribution): string {
  if (hasWords(response)) return response
  return [
    ...(recommendation === null ? [] : [recommendation]),
    ...concerns.map(({ concern, severity }) => `- ${severity}: ${concern}`),
  ].join('\n')
}

/** The scores of the evaluator. */
export interface BestOfEvaluation {
  index: number
  agent: string
  reason: string
  scores: { agent: string; score: number; reason: string }[]
  /** The agents that share the highest score, if there are several. */
  tied?: string[]
  /** The agents whose answers the evaluator did not score. */
  unscored?: string[]
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

const metadataSchema = z.looseObject({
  agents_count: z.int(),
  mode: z.string(),
  synthesis: z.string(),
  status: z.enum(['completed', 'partial']),
  duration_ms: z.number(),
  total_tokens: z.int(),
  cost: z.number().nullable(),
})

export const collaborateOutput = z.looseObject({
  result: z.string(),
  decided: z.boolean(),
  contributions: z.array(z.looseObject({ agent: z.string(), role: z.string(), response: z.string() })),
  consensus: consensusSchema,
  metadata: metadataSchema,
})
