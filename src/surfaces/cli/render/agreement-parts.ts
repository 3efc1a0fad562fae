import type { ErrorRecord } from '../../../errors.ts'

/** What a collaboration leaves behind, as far as it is drawn. A failed one has its contributions alone. */
export interface Agreement {
  result?: string
  contributions: Spoken[]
  consensus?: {
    agreement_score: number | null
    consensus_score: number | null
    has_consensus: boolean
    clusters: Cluster[]
    tie: boolean
    minority_report: { agents: string[]; concerns: string[] }[]
    kappa?: number
    method: string
    note?: string
    confidence?: { confidence: number; cases: number }
  }
  vote?: { strategy: string; winner: string | null; tie: boolean; reason: string; blocked_by?: string[] }
  best_of?: { agent: string; reason: string; scores: { agent: string; score: number }[]; tied?: string[] }
  ruling?: { decision: string }
  decision?: { collaborated: boolean; reason: string }
  metadata?: {
    mode?: string
    saved?: { agents: string[]; calls: number; why: string; probability?: number }
    problems?: string[]
  }
}

export interface Spoken {
  agent: string
  role: string
  response: string
  recommendation: string | null
  confidence: number | null
  /** What its voice counts for, before its confidence. */
  weight?: number
  status: string
  subtask?: string
  before?: { recommendation: string | null }
  cached?: true
  error?: Pick<ErrorRecord, 'code' | 'message'>
}

export interface Cluster {
  recommendation: string
  agents: string[]
  score: number
  share: number
}

/** The output of a run, where it is one of a collaboration. */
export function agreementOf(output: unknown): Agreement | undefined {
  if (typeof output !== 'object' || output === null) return undefined
  const { contributions } = output as { contributions?: unknown }
  if (!Array.isArray(contributions) || !contributions.every(isSpoken)) return undefined
  return output as Agreement
}

function isSpoken(value: unknown): value is Spoken {
  if (typeof value !== 'object' || value === null) return false
  const { agent, response, status } = value as Partial<Spoken>
  return typeof agent === 'string' && typeof response === 'string' && typeof status === 'string'
}
