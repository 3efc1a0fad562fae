import type { ErrorRecord } from '../../../errors.ts'

/** The part of a collaboration's output that surfaces display. A failed collaboration has only `contributions`. */
export interface AgreementView {
  result?: string
  decided?: boolean
  contributions: ContributionView[]
  consensus?: {
    agreement_score: number | null
    consensus_score: number | null
    has_consensus: boolean
    clusters: ClusterView[]
    tie: boolean
    supporting: string[]
    key_agreements?: string[]
    key_disagreements?: {
      topic: string
      positions: { recommendation: string; agents: string[] }[]
      severity: string
    }[]
    unclear?: [string, string][]
    minority_report: { agents: string[]; concerns: string[] }[]
    method: string
    note?: string
    confidence?: { confidence: number; cases: number }
  }
  vote?: { strategy: string; winner: string | null; tie: boolean; reason: string; blocked_by?: string[] }
  best_of?: {
    agent: string
    reason: string
    scores: { agent: string; score: number; reason?: string }[]
    tied?: string[]
  }
  ruling?: { decision: string }
  metadata?: {
    mode?: string
    saved?: { agents: string[]; calls: number; why: string; probability?: number }
    cost?: number | null
    problems?: string[]
  }
}

export interface ContributionView {
  agent: string
  role: string
  response: string
  recommendation: string | null
  confidence: number | null
  /** Weight of the vote, before confidence is applied. */
  weight?: number
  status: string
  subtask?: string
  before?: { recommendation: string | null; confidence?: number | null }
  concerns?: { concern: string; severity: string }[]
  questions?: string[]
  notes?: string[]
  tokens_used?: number
  cached?: true
  error?: Pick<ErrorRecord, 'code' | 'message'>
}

export interface ClusterView {
  recommendation: string
  agents: string[]
  score: number
  share: number
}

/** The agreement view of a run's output; `undefined` when the run was not a collaboration. */
export function agreementViewFrom(output: unknown): AgreementView | undefined {
  if (typeof output !== 'object' || output === null) return undefined
  const { contributions } = output as { contributions?: unknown }
  if (!Array.isArray(contributions) || !contributions.every(isContribution)) return undefined
  return output as AgreementView
}

function isContribution(value: unknown): value is ContributionView {
  if (typeof value !== 'object' || value === null) return false
  const { agent, response, status } = value as Partial<ContributionView>
  return typeof agent === 'string' && typeof response === 'string' && typeof status === 'string'
}
