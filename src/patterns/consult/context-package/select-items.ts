import { sharedWords, wordSet } from '../../../judgement/loop/same-subject.ts'
import { textCut } from '../../../judgement/relevance/passages.ts'
import type { ScoredCandidate } from './candidate.ts'
import { estimateTokens } from './candidate.ts'
import type { LeftOutItem } from './context-package.ts'

/** What goes into the package and what does not. */
export interface ItemSelection {
  chosen: ScoredCandidate[]
  left_out: LeftOutItem[]
}

export interface SelectionSettings {
  /** Less relevant candidates are unrelated to the question. */
  minRelevance: number
  /** As a share of the best one that the asker did not name itself. */
  minShareOfBest: number
  /** How much short passages are preferred to long ones; 0: not at all. */
  brevity: number
}

export const SELECTION_SETTINGS: SelectionSettings = { minRelevance: 0.04, minShareOfBest: 0.08, brevity: 0.7 }

/** Tokens of the label and the separators of an item. */
export const ITEM_OVERHEAD = 14
/** Less than this of a text says nothing. */
const MIN_CUT_TOKENS = 60
const CUT_MARK = '\n[… cut]'
/** Share of words from which two passages are the same. */
const DUPLICATE = 0.92
const TYPICAL_TOKENS = 60
const MAX_LEFT_OUT = 40

interface SelectionOptions {
  budget: number
  /** Texts that the package has anyway. */
  present: readonly string[]
  settings?: SelectionSettings | undefined
}

/** Chooses by relevance until the budget is used up. Duplicates are dropped; a text that does not fit is cut or left out. */
export function selectItems(
  scored: readonly ScoredCandidate[],
  { budget, present, settings = SELECTION_SETTINGS }: SelectionOptions,
): ItemSelection {
  const chosen: ScoredCandidate[] = []
  const left_out: LeftOutItem[] = []
  const best = Math.max(0, ...scored.filter(({ requested }) => !requested).map(({ relevance }) => relevance))
  const minimum = Math.max(settings.minRelevance, settings.minShareOfBest * best)
  const words = present.map(wordSet)
  let remaining = budget
  for (const candidate of inOrderOfValue(scored, settings.brevity)) {
    const tokens = estimateTokens(candidate.text) + ITEM_OVERHEAD
    const leaveOut = (reason: string) => left_out.push(leftOut(candidate, reason, tokens))
    if (!candidate.requested && candidate.relevance < minimum) {
      leaveOut('not relevant to the question')
      continue
    }
    const own = wordSet(candidate.text)
    if (words.some((other) => sharedWords(other, own) >= DUPLICATE)) {
      leaveOut('duplicate')
      continue
    }
    const fitting = tokens <= remaining ? candidate : cutCandidate(candidate, remaining - ITEM_OVERHEAD)
    if (!fitting) {
      leaveOut('over the token budget')
      continue
    }
    if (fitting !== candidate) leaveOut('the rest of a text that was cut')
    remaining -= estimateTokens(fitting.text) + ITEM_OVERHEAD
    chosen.push(fitting)
    words.push(own)
  }
  return { chosen, left_out: summarizeLeftOut(left_out) }
}

/** What the asker named comes first, then what says most in few words; among equals, the newest. */
function inOrderOfValue(scored: readonly ScoredCandidate[], brevity: number): ScoredCandidate[] {
  const valued = scored.map((candidate) => {
    const tokens = estimateTokens(candidate.text) + ITEM_OVERHEAD
    return { candidate, value: candidate.relevance * (TYPICAL_TOKENS / (TYPICAL_TOKENS + tokens)) ** brevity }
  })
  return valued
    .toSorted(
      ({ candidate: a, value: valueOfA }, { candidate: b, value: valueOfB }) =>
        Number(b.requested ?? false) - Number(a.requested ?? false) ||
        valueOfB - valueOfA ||
        b.position[0] - a.position[0] ||
        a.position[1] - b.position[1],
    )
    .map(({ candidate }) => candidate)
}

/** Only what the asker named is worth a part of it; other candidates are short passages already. */
function cutCandidate(candidate: ScoredCandidate, tokens: number): ScoredCandidate | undefined {
  if (!candidate.requested || tokens < MIN_CUT_TOKENS) return undefined
  return { ...candidate, text: cutText(candidate.text, tokens) }
}

/** Cuts a text to a number of tokens, at a sensible place, and marks it. */
export function cutText(text: string, tokens: number): string {
  if (estimateTokens(text) <= tokens) return text
  // Characters of other scripts have up to four bytes.
  const bytesPerCharacter = Math.max(1, Buffer.byteLength(text) / text.length)
  const characters = Math.max(0, Math.floor((tokens * 4 - CUT_MARK.length) / bytesPerCharacter))
  return text.slice(0, textCut(text, characters)).trimEnd() + CUT_MARK
}

function leftOut({ source, origin }: ScoredCandidate, reason: string, tokens: number): LeftOutItem {
  return { source, origin, reason, tokens }
}

/** One entry for each message, file or document and reason; the last entry counts those beyond the first ones. */
export function summarizeLeftOut(items: readonly LeftOutItem[]): LeftOutItem[] {
  const groups = new Map<string, LeftOutItem>()
  for (const item of items) {
    const origin = item.origin.replace(/:\d+-\d+$/, '')
    const key = JSON.stringify([item.source, origin, item.reason])
    const group = groups.get(key)
    groups.set(key, { ...item, origin, tokens: (group?.tokens ?? 0) + item.tokens })
  }
  const sorted = [...groups.values()].sort((a, b) => b.tokens - a.tokens)
  const rest = sorted.slice(MAX_LEFT_OUT)
  if (rest.length === 0) return sorted
  const tokens = rest.reduce((sum, item) => sum + item.tokens, 0)
  return [
    ...sorted.slice(0, MAX_LEFT_OUT),
    {
      source: 'conversation',
      origin: `${rest.length} others`,
      reason: 'not relevant, duplicate or over the token budget',
      tokens,
    },
  ]
}
