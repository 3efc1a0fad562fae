import { isOutsideFailure } from './outside-failure.ts'
import type { ParsedText } from './same-subject.ts'
import { differInSubject, hasOther, parseText } from './same-subject.ts'
import { sharedWords } from './shared-words.ts'

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
  /** The agent that gets it. Instructions in a row to different agents are given at the same time. */
  to?: string
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
  maxNewWords: 0.4,
  graceDecisions: 2,
}

const RECENT = 2
const INSTRUCTIONS_KEPT = 200
/** Words of a result that is judged by what it names. */
const SHORT_RESULT = 40

/** The results of one decision, compared with everything before. */
interface Novelty {
  /** `undefined` without a result. */
  newWords?: number
  repeatedLine?: string
  withoutResult: boolean
}

export function createRepeatedWorkDetector(thresholds = REPETITION_THRESHOLDS): RepeatedWorkDetector {
  const instructions: (ParsedText & { ordinal: number })[] = []
  const knownWords = new Set<string>()
  const knownLines = new Set<string>()
  const knownNames = new Set<string>()
  let recent: Novelty[] = []
  let ordinal = 0
  let sinceStart = 0
  let previousTo: string | undefined

  function compareResults(results: readonly string[]): Novelty {
    const { words, names } = parseText(results.join('\n'))
    let unseen = 0
    for (const word of words) if (!knownWords.has(word)) unseen++
    // The next reading of a monitor differs in its numbers only.
    const isNews = words.size <= SHORT_RESULT && hasOther(names, knownNames)
    const lines = results.map(firstLine).filter((line) => line !== '')
    const repeatedLine = lines.find((line) => knownLines.has(line))
    for (const word of words) knownWords.add(word)
    for (const name of names) knownNames.add(name)
    for (const line of lines) knownLines.add(line)
    if (words.size === 0) return { withoutResult: true }
    const newWords = isNews ? 1 : unseen / words.size
    return { newWords, withoutResult: false, ...(repeatedLine !== undefined && { repeatedLine }) }
  }

  /** Adds the results of the instruction before. Failures of the outside world and instructions at the same time say nothing. */
  function addResults(results: readonly string[], to: string | undefined): void {
    if (results.length > 0 && results.every(isOutsideFailure)) {
      instructions.pop()
      return
    }
    const isParallel = to !== undefined && previousTo !== undefined && to !== previousTo
    if (results.length === 0 && (ordinal === 0 || isParallel)) return
    recent = [...recent, compareResults(results)].slice(-RECENT)
  }

  return {
    add({ instruction, results, to, freshStart = ordinal === 0 }) {
      if (freshStart) {
        recent = []
        sinceStart = 0
      }
      const parsed = parseText(instruction)
      addResults(results, to)
      const similar = instructions.filter(
        (earlier) =>
          sharedWords(parsed.words, earlier.words) >= thresholds.similarInstruction &&
          !differInSubject(parsed, earlier),
      )
      instructions.push({ ...parsed, ordinal })
      if (instructions.length > INSTRUCTIONS_KEPT) instructions.shift()
      for (const word of parsed.words) knownWords.add(word)
      for (const name of parsed.names) knownNames.add(name)
      ordinal++
      previousTo = to
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
  const newWords = Math.min(1, ...recent.flatMap((result) => result.newWords ?? []))
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
