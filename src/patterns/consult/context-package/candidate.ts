import type { ArchitectureDecision } from '../../../formats/project-profile/project-profile.ts'
import type { ConversationExcerpt, ItemSource, PastCollaboration } from './context-package.ts'

/** The field of the package that a candidate would go to, with what the field needs besides the text. */
export type PackageField =
  | { field: 'code_snippets'; path?: string }
  | { field: 'error_messages' }
  | { field: 'attempted_solutions' }
  | { field: 'conversation_excerpts'; from: ConversationExcerpt['from'] }
  | { field: 'relevant_architecture_decisions'; decision: ArchitectureDecision }
  | { field: 'similar_past_collaborations'; past: PastCollaboration }
  | { field: 'best_practices' }

/** A text that may go into a package. Secrets and personal data are already redacted. */
export interface Candidate {
  source: ItemSource
  /** Passages of one origin are in its order, and adjacent ones are joined. */
  origin: string
  /** Position of the text: of the message, then of the passage in it. */
  position: readonly [message: number, passage: number]
  text: string
  placement: PackageField
  /** What the asker named itself: always relevant. */
  requested?: true
  /** A score that another search computed. */
  score?: number
  /** Multiplies the relevance: recent errors count more than old statements. */
  prior: number
}

/** A candidate and how relevant it is. */
export interface ScoredCandidate extends Candidate {
  relevance: number
  reason: string
}

/** Tokens of a text: about four bytes each, as models count English and code. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4)
}
