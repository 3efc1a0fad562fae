import type { Savings } from './ask-specialists.ts'
import type { ConsensusState } from './decision/consensus-state.ts'
import type { Ruling } from './decision/escalate.ts'
import type { VoteResult } from './decision/synthesis.ts'
import type { BestOfEvaluation, Contribution } from './output.ts'

/** The result of a collaboration. */
export interface CollaborateOutput {
  /** The answer; it begins with the decision, or says that there is none. */
  result: string
  /**
   * False if there is no decision: a vote is tied, blocked, not unanimous or unclear, its winner has a single vote, or no agent gave an answer. The
   * command line then exits with 4.
   */
  decided: boolean
  contributions: Contribution[]
  consensus: ConsensusState['consensus']
  /** Set after the synthesis `vote`. */
  vote?: VoteResult
  /** Set after the synthesis `best_of`. */
  best_of?: BestOfEvaluation
  /** The decision of a person, with `on_conflict: escalate`. */
  ruling?: Ruling
  metadata: CollaborateMetadata
}

export interface CollaborateMetadata {
  agents_count: number
  mode: string
  synthesis: string
  status: 'completed' | 'partial'
  duration_ms: number
  total_tokens: number
  /** In US dollars; `null` if a price is unknown. */
  cost: number | null
  /** The agents that were not asked, and why. */
  saved?: Savings
  /** Problems, and options that had no effect. */
  problems?: string[]
}
