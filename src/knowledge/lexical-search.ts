import { isContentWord, stem } from '../judgement/similarity/tokenizer.ts'

/** Longer queries are cut: they would only cost time. */
const MAX_QUERY_LENGTH = 4000
const WORD = /[\p{L}\p{N}_]+/gu

/**
 * How much of the query's words each text has, from 0 to 1, where a rare word counts more than one that many of the texts have (inverse document
 * frequency).
 */
export function lexicalSimilarities(query: string, texts: readonly string[]): number[] {
  const stems = new Map<string, string>()
  const queryStems = new Set(stemsIn(query.slice(0, MAX_QUERY_LENGTH), stems))
  const shared = texts.map((text) => new Set(stemsIn(text, stems).filter((word) => queryStems.has(word))))
  const frequency = new Map<string, number>()
  for (const words of shared) for (const word of words) frequency.set(word, (frequency.get(word) ?? 0) + 1)
  const weight = (word: string) => Math.log(1 + texts.length / (1 + (frequency.get(word) ?? 0))) + 0.1
  const total = sum([...queryStems].map(weight))
  return shared.map((words) => (total === 0 ? 0 : sum([...words].map(weight)) / total))
}

/** Stems of the content words; a word is reduced to its stem once for all texts. */
function stemsIn(text: string, known: Map<string, string>): string[] {
  const words = text.normalize('NFKC').toLowerCase().match(WORD) ?? []
  return words.filter(isContentWord).map((word) => {
    const stemmed = known.get(word) ?? stem(word)
    known.set(word, stemmed)
    return stemmed
  })
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
