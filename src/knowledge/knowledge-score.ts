import type { KnowledgeDocument, KnowledgeOutcome } from '../kernel/knowledge.ts'

const DAY_MS = 86_400_000
/** The age at which the newer half of the weight is halved. */
const HALF_LIFE_DAYS = 90
/** A good answer from long ago still counts for half. */
const OLDEST_WEIGHT = 0.5
/** The weight of an answer that nobody rated: less than that of one that was rated as middling. */
const UNRATED_WEIGHT = 0.5
/** Ratings of 1 and 2 are no examples to follow. */
const WEIGHT_BY_RATING: Readonly<Record<number, number>> = { 1: 0, 2: 0, 3: 0.6, 4: 0.9, 5: 1 }

/** The weight of a document besides its similarity: that of its outcome times that of its age; 0 for a bad outcome. Documents without an outcome have 1. */
export function documentWeight({ outcome, at }: KnowledgeDocument, now: number): number {
  return outcome ? outcomeWeight(outcome) * ageWeight(now - at) : 1
}

function outcomeWeight({ success, rating }: KnowledgeOutcome): number {
  if (!success) return 0
  return rating === undefined ? UNRATED_WEIGHT : (WEIGHT_BY_RATING[Math.round(rating)] ?? 0)
}

/** From 1 for something new, halving every 90 days, down to one half. */
function ageWeight(age_ms: number): number {
  const age_days = Math.max(0, age_ms) / DAY_MS
  return OLDEST_WEIGHT + (1 - OLDEST_WEIGHT) * 2 ** (-age_days / HALF_LIFE_DAYS)
}
