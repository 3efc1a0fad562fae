import { cosineSimilarity } from '../../../judgement/similarity/similarity.ts'
import { stem, tokenize } from '../../../judgement/similarity/tokenizer.ts'
import type { Embedder } from '../../../kernel/embedder.ts'
import type { Scenario } from './scenarios.ts'

/** The scenario that a question most likely belongs to, found without a model. */
export interface LocalMatch {
  scenario: string
  /** From 0 to 1: how clearly this scenario leads. */
  score: number
  /** The keywords that were found. */
  keywords: string[]
  method: 'embedding' | 'words'
}

/** The score from which `routing.local_match: true` decides. Chosen with `npm run bench:routing`. */
export const DEFAULT_MATCH_THRESHOLD = 0.65

const KEYWORD_SHARE = 0.5
/** Additive smoothing: one keyword alone is weak evidence. */
const KEYWORD_DOUBT = 1

/** Ranks the scenarios by their keywords and, with an embedder, by the meaning of their descriptions. */
export async function matchScenarios(
  question: string,
  scenarios: readonly Scenario[],
  { embedder, signal }: { embedder: Embedder | undefined; signal: AbortSignal },
): Promise<LocalMatch | undefined> {
  const found = scenarios.map(({ keywords }) => findKeywords(question, keywords))
  const counts = found.map((keywords) => keywords.length)
  const total = counts.reduce((sum, count) => sum + count, 0)
  const byKeywords = counts.map((count) => count / (total + KEYWORD_DOUBT))
  const similarities = embedder ? await describeSimilarity(question, scenarios, { embedder, signal }) : undefined
  const scores = byKeywords.map((share, index) =>
    similarities ? KEYWORD_SHARE * share + (1 - KEYWORD_SHARE) * (similarities[index] ?? 0) : share,
  )
  const [best] = scores.map((score, index) => ({ score, index })).toSorted((a, b) => b.score - a.score)
  const scenario = best && scenarios[best.index]
  if (!scenario || best.score <= 0) return undefined
  return {
    scenario: scenario.name,
    score: round(best.score),
    keywords: found[best.index] ?? [],
    method: similarities ? 'embedding' : 'words',
  }
}

/** The keywords that occur in a text as whole words, in any inflection. */
export function findKeywords(text: string, keywords: readonly string[]): string[] {
  const stems = ` ${stemText(text)} `
  return keywords.filter((keyword) => stems.includes(` ${stemText(keyword)} `))
}

function stemText(text: string): string {
  return tokenize(text)
    .map(({ text: word }) => stem(word))
    .join(' ')
}

/** Softmax over the similarities: a question about nothing in particular gives no scenario a large share. */
const TEMPERATURE = 0.05

async function describeSimilarity(
  question: string,
  scenarios: readonly Scenario[],
  { embedder, signal }: { embedder: Embedder; signal: AbortSignal },
): Promise<number[]> {
  const texts = scenarios.map(({ description }) => description)
  const [asked, ...described] = await embedder.embed([question, ...texts], signal)
  const similarities = described.map((vector) => cosineSimilarity(asked ?? [], vector))
  return toShares(similarities.map((similarity) => Math.exp(similarity / TEMPERATURE)))
}

function toShares(values: readonly number[]): number[] {
  const total = values.reduce((sum, value) => sum + value, 0)
  return values.map((value) => (total > 0 ? value / total : 0))
}

/** Rounded: the last digits of a similarity differ between processors. */
function round(score: number): number {
  return Math.round(score * 10_000) / 10_000
}
