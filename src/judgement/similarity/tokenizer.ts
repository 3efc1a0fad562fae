import { normalizeQuantities } from './quantities.ts'
import { americanSpelling, resolveAlias } from './spelling.ts'

/** A token of a statement. */
export interface Word {
  /** Normalised: the form that is compared. */
  text: string
  /** As written, with its case. */
  raw: string
  /** A clause ends after this word. */
  endsClause: boolean
}

const CONTRACTIONS: readonly [RegExp, string][] = [
  [/\b(?:can['’]?t|cannot)\b/gi, 'can not'],
  [/\bwon['’]t\b/gi, 'will not'],
  [/\bshan['’]t\b/gi, 'shall not'],
  [/\bain['’]t\b/gi, 'is not'],
  [/\blet['’]s\b/gi, 'let us'],
  [/\b(do|does|did|should|would|could|is|are|was|were|has|have|had|must|need|might|ought)n['’]?t\b/gi, '$1 not'],
  [/\b(i|we|you|they|he|she|it|that|there)['’](?:d|ll|m|re|s|ve)\b/gi, '$1'],
  [/(\p{L})['’]s\b/giu, '$1'],
]

/** Terms of several words that mean the same as their abbreviation in every context. */
const ABBREVIATIONS: readonly [RegExp, string][] = [
  [/\b(?:JSON web tokens?|JWTs)\b/gi, 'JWT'],
  [/\b(?:two|2)[- ]factor auth(?:entication)?\b/gi, '2FA'],
  [/\bmulti[- ]?factor auth(?:entication)?\b/gi, 'MFA'],
]

const INVISIBLE_CHARACTERS = /[\u200B-\u200D\u2060\uFEFF\u00AD]/g

/** Splits a statement into words with normalised Unicode, case, punctuation, contractions, units and spelling. */
export function tokenize(text: string): Word[] {
  let normalized = text
    .normalize('NFKC')
    .replace(INVISIBLE_CHARACTERS, '')
    .replace(/[`´^~|]/g, ' ')
    .replace(/\s[+&]\s/g, ' and ')
  for (const [pattern, expansion] of [...CONTRACTIONS, ...ABBREVIATIONS])
    normalized = normalized.replace(pattern, expansion)
  normalized = normalizeQuantities(normalized)
  return [...normalized.matchAll(TOKEN)].map(({ 0: token, index }) => {
    const lower = token.toLowerCase()
    const rest = normalized.slice(index + token.length, index + token.length + 3)
    return {
      text: resolveAlias(americanSpelling(lower)),
      raw: token,
      endsClause: /^["')\]]*[.,;:!?\n—–]/.test(rest) || /^\s+[-–—]\s?/.test(rest),
    }
  })
}

/** Names such as C++, C#, node.js and at_rest stay whole; symbols (✅, ≥, $) are separate tokens. */
const TOKEN = /[\p{L}\p{M}\p{N}_]+(?:[.’'@][\p{L}\p{N}_]+)*[+#]*%?|\p{S}+/gu

/** Removes inflection endings: caching, caches and cached have one stem. */
export function stem(word: string): string {
  if (/^us(?:e|es|ed|ing)$/.test(word)) return 'use'
  if (word.length < 4 || /[^a-z]/.test(word)) return word
  const stripped = word
    .replace(/(?:ies|ied)$/, 'y')
    .replace(/(?<=[a-z]{3})(?:ing|ed|er|est)$/, '')
    .replace(/(?<=(?:s|x|z|ch|sh))es$/, '')
    .replace(/(?<=[^su])s$/, '')
    .replace(/(?<=[a-z]{2})e$/, '')
  return stripped.length > 3 ? stripped.replace(/([bdgklmnprt])\1$/, '$1') : stripped
}

const FUNCTION_WORDS = new Set(
  (
    'a an the this that these those it its i we you they our your their my me us them is are was were be been being am do does did ' +
    'have has had will would shall should can could may might must to of in on at by for from with as and or but so then than too ' +
    'also very into onto over under up down out off about per via not no if there here which who what when where how why all any ' +
    'each every both more most less least such only own same s t just now ever even still yet while because since before after behind between until through within during once another one'
  ).split(' '),
)

/** Whether a word carries meaning, unlike function words such as articles and auxiliaries. */
export function isContentWord(word: string): boolean {
  return !FUNCTION_WORDS.has(word)
}

export function wordTexts(words: readonly Word[]): string[] {
  return words.map(({ text }) => text)
}

export function contentStems(words: readonly Word[]): string[] {
  return words.filter(({ text }) => isContentWord(text)).map(({ text }) => stem(text))
}
