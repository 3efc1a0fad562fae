import type { ArchitectureDecision } from '../../../formats/project-profile/project-profile.ts'

/** Where an item of a package comes from. */
export type ItemSource =
  | 'request'
  | 'conversation'
  | 'file'
  | 'tool_result'
  | 'project_profile'
  | 'document'
  | 'past_consultation'

/** Why an item is in the package. */
export interface PackageItem {
  source: ItemSource
  /** The file, message or document, such as `src/auth.ts:10-42` or `message 12`. */
  origin: string
  /** Relevance for the question, from 0 to 1. */
  score: number
  reason: string
  tokens: number
}

/** What was not sent, and why. */
export interface LeftOutItem {
  source: ItemSource
  origin: string
  reason: string
  tokens: number
}

export interface CodeSnippet {
  path?: string
  text: string
}

/** A statement of the asker's conversation that is neither code nor an error. */
export interface ConversationExcerpt {
  from: 'user' | 'agent' | 'tool'
  text: string
}

export interface PastCollaboration {
  question: string
  resolution: string
  lessons?: string
  success_rating?: number
}

/** Kinds of secrets and personal data that were replaced, with their number. */
export interface RedactionCount {
  kind: string
  count: number
}

/** What was found for the question. */
export interface PackageContent {
  code_snippets: CodeSnippet[]
  error_messages: string[]
  attempted_solutions: string[]
  conversation_excerpts: ConversationExcerpt[]
  relevant_architecture_decisions: ArchitectureDecision[]
  similar_past_collaborations: PastCollaboration[]
  best_practices: string[]
}

/** How the content was chosen. */
export interface PackageChoice {
  items: PackageItem[]
  left_out: LeftOutItem[]
  /** Estimated tokens of the package, without `items` and `left_out`. */
  tokens: number
  /** How relevance was judged: by words only, or also by meaning. */
  method: 'lexical' | 'lexical and embedding'
  redacted: RedactionCount[]
}

/** The context that a specialist gets with a question, instead of the asker's history. */
export interface ContextPackage extends PackageContent, PackageChoice {
  collaboration_id: string
  requesting_agent: string
  consultation_reason: string
  question: string
  specific_concern?: string
  current_task: string
  relevant_files: string[]
  project_type: string
  tech_stack: string[]
}
