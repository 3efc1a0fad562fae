/*
 * Telling "the same again" from "the same for another thing": map-reduce over files, one question per customer, the segments of a
 * translation and the readings of a monitor use one template with another subject each time, and are no repetition.
 */

/** A text that is compared with several others. */
export interface ParsedText {
  words: ReadonlySet<string>
  /** Paths, identifiers, numbers and quoted texts. */
  names: ReadonlySet<string>
}

const MAX_CHARACTERS = 100_000
const MAX_NAME = 200
/** Whole tokens, so that matching is linear in the length of the text. */
const TOKEN = /[\p{L}\p{N}_./:#@\\]+/gu
const QUOTED = /["“„«`][^"“”»`\n]{1,80}["”“»`]/gu
/** Paths and identifiers such as `src/a.ts`, `user_id` and `UserModel`, and everything with a digit. */
const IDENTIFIER = /[\p{L}\p{N}][_./:#@\\]+[\p{L}\p{N}]|\p{Ll}\p{Lu}|\p{N}/u
/** Words that a subject does not consist of, with those that ask for the same again. */
const FILLER = new Set(
  (
    'a an the is are was were be been being do does did done has have had having of in on at to for from by with without and or but not no yes it ' +
    'its this that these those there here what which who whom whose when where why how can could should would will may might must shall i me my ' +
    'you your he him his she her we us our they them their as if then than so all any each every only also just very please again once more another ' +
    'before still now ok okay sure continue go going on keep try trying retry repeat make sure carefully really let lets ahead further next up out'
  ).split(' '),
)
/** Words in which one template may differ for another subject; texts that differ in more are other texts. */
const MAX_SUBJECT_WORDS = 3

export function parseText(text: string): ParsedText {
  return { words: wordSet(text), names: namesIn(text) }
}

/**
 * Whether two texts are about different things: each names a path, identifier, number or quoted text that the other does not, or they are
 * one template in which a few words are exchanged.
 */
export function differInSubject(a: ParsedText, b: ParsedText): boolean {
  if (namesDiffer(a, b)) return true
  const [onlyInA, onlyInB] = [subjectWords(a, b).length, subjectWords(b, a).length]
  return onlyInA > 0 && onlyInB > 0 && Math.max(onlyInA, onlyInB) <= MAX_SUBJECT_WORDS
}

/** Whether each of two texts names something that the other does not. */
export function namesDiffer(a: ParsedText, b: ParsedText): boolean {
  return hasOther(a.names, b.names) && hasOther(b.names, a.names)
}

/** Content words of one text that the other does not have. */
export function subjectWords(one: ParsedText, other: ParsedText): string[] {
  return [...one.words].filter((word) => !other.words.has(word) && !FILLER.has(word))
}

export function hasOther(names: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  for (const name of names) if (!others.has(name)) return true
  return false
}

export function isFiller(word: string): boolean {
  return FILLER.has(word)
}

function namesIn(text: string): ReadonlySet<string> {
  const shown = text.slice(0, MAX_CHARACTERS).normalize('NFKC')
  const tokens = (shown.match(TOKEN) ?? []).map((token) => token.slice(0, MAX_NAME).replace(/[./:]+$/u, ''))
  const quoted = (shown.match(QUOTED) ?? []).map((name) => name.slice(1, -1))
  return new Set([...tokens.filter((token) => IDENTIFIER.test(token)), ...quoted].map((name) => name.toLowerCase()))
}

/** The words of a text in lower case, each once; a bounded number, so that one huge result stays cheap. */
export function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.slice(0, MAX_CHARACTERS).normalize('NFKC').toLowerCase().match(WORD) ?? [])
}

/** Dice coefficient of two sets of words: 0 for nothing in common, 1 for the same words. */
export function sharedWords(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size === 0 || b.size === 0) return 0
  const [small, large] = a.size <= b.size ? [a, b] : [b, a]
  let shared = 0
  for (const word of small) if (large.has(word)) shared++
  return (2 * shared) / (a.size + b.size)
}

/** Whether sets of these sizes can share as much as `least`: spares the comparison of very different ones. */
export function mayShare(a: number, b: number, least: number): boolean {
  return (2 * Math.min(a, b)) / (a + b) >= least
}

const WORD = /[\p{L}\p{N}]+/gu
