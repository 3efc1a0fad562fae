import { sharedWords, wordSet } from './shared-words.ts'

/*
 * Repeated work: almost the same instruction is given again, and what comes back is known already.
 * 1. One sign alone is never a loop: similar instructions that bring new results are progress, and so are familiar
 *    results of a new instruction.
 * 2. A new plan or a person's message is a fresh start: the next two decisions are never a loop. Instructions and words stay known.
 * 3. A decision costs time in proportion to its own words and a bounded number of earlier instructions.
 * The thresholds are measured by `npm run bench:loops`.
 */

/** An instruction to an agent, and the results that arrived since the instruction before it. */
export interface OrchestratorDecision {
  instruction: string
  results: readonly string[]
  /** A new plan was made, or a person spoke, since the instruction before. */
  freshStart?: boolean
}

export interface RepeatedWork {
  /** At least two of the three signs. */
  isLoop: boolean
  /** Decisions with a similar instruction, by their ordinal, if there are at least three. */
  similar: readonly number[]
  /** The share of words in the least new of the two latest results that did not occur before. */
  newWords: number
  /** The first line of a recent result, if it occurred before. */
  repeatedLine?: string
  /** An instruction of the two latest had no result at all. */
  withoutResult: boolean
}

export interface RepeatedWorkDetector {
  add(decision: OrchestratorDecision): RepeatedWork
}

export interface RepetitionThresholds {
  /** Share of words that makes two instructions similar. */
  similarInstruction: number
  /** Earlier instructions that an instruction has to resemble. */
  minSimilar: number
  /** A result with at most this share of unseen words has nothing new. */
  maxNewWords: number
  /** Decisions after a fresh start that are never a loop. */
  graceDecisions: number
}

export const REPETITION_THRESHOLDS: RepetitionThresholds = {
  similarInstruction: 0.45,
  minSimilar: 3,
  maxNewWords: 0.5,
  graceDecisions: 2,
}

const RECENT = 2
const INSTRUCTIONS_KEPT = 200

/** The results of one decision, compared with everything before. */
interface Novelty {
  newWords: number
  repeatedLine?: string
  withoutResult: boolean
}

export function createRepeatedWorkDetector(thresholds = REPETITION_THRESHOLDS): RepeatedWorkDetector {
  const instructions: { ordinal: number; words: ReadonlySet<string> }[] = []
  const knownWords = new Set<string>()
  const knownLines = new Set<string>()
  let recent: Novelty[] = []
  let ordinal = 0
  let sinceStart = 0

  function compareResults(results: readonly string[]): Novelty {
    const words = wordSet(results.join('\n'))
    let unseen = 0
    for (const word of words) if (!knownWords.has(word)) unseen++
    const lines = results.map(firstLine).filter((line) => line !== '')
    const repeatedLine = lines.find((line) => knownLines.has(line))
    for (const word of words) knownWords.add(word)
    for (const line of lines) knownLines.add(line)
    const newWords = words.size === 0 ? 0 : unseen / words.size
    return { newWords, withoutResult: words.size === 0, ...(repeatedLine !== undefined && { repeatedLine }) }
  }

  return {
    add({ instruction, results, freshStart = ordinal === 0 }) {
      if (freshStart) {
        recent = []
        sinceStart = 0
      }
      const words = wordSet(instruction)
      const similar = instructions.filter(
        (earlier) => sharedWords(words, earlier.words) >= thresholds.similarInstruction,
      )
      recent = [...recent, compareResults(results)].slice(-RECENT)
      instructions.push({ ordinal, words })
      if (instructions.length > INSTRUCTIONS_KEPT) instructions.shift()
      for (const word of words) knownWords.add(word)
      ordinal++
      const repeated = summarize(
        similar.map((earlier) => earlier.ordinal),
        recent,
        thresholds,
      )
      return sinceStart++ < thresholds.graceDecisions ? { ...repeated, isLoop: false } : repeated
    },
  }
}

function summarize(
  similar: readonly number[],
  recent: readonly Novelty[],
  thresholds: RepetitionThresholds,
): RepeatedWork {
  const newWords = Math.min(...recent.map((result) => result.newWords))
  const withoutResult = recent.some((result) => result.withoutResult)
  const repeatedLine = recent.findLast((result) => result.repeatedLine !== undefined)?.repeatedLine
  const isSimilar = similar.length >= thresholds.minSimilar
  const signs = [isSimilar, newWords <= thresholds.maxNewWords, repeatedLine !== undefined || withoutResult]
  return {
    isLoop: signs.filter(Boolean).length >= 2,
    similar: isSimilar ? similar : [],
    newWords,
    withoutResult,
    ...(repeatedLine !== undefined && { repeatedLine }),
  }
}

function firstLine(text: string): string {
  return text.trimStart().split('\n', 1)[0]?.slice(0, 200).trimEnd() ?? ''
}
