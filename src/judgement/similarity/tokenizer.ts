import { normalizeQuantities } from './quantities.ts'
import { americanSpelling, resolveAlias } from './spelling.ts'

/** A word of a statement as it is compared. `raw` keeps the case; `ends` says that a clause ends behind it. */
export interface Word {
  text: string
  raw: string
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

const INVISIBLE_CHARACTERS = /[\u200B-\u200D\u2060\uFEFF\u00AD]/g

/** The words of a statement: unicode form, case, punctuation, contractions, units and spelling are settled. */
export function tokenize(text: string): Word[] {
  let plain = text
    .normalize('NFKC')
    .replace(INVISIBLE_CHARACTERS, '')
    .replace(/[`´^~|]/g, ' ')
    .replace(/\s[+&]\s/g, ' and ')
  for (const [pattern, instead] of CONTRACTIONS) plain = plain.replace(pattern, instead)
  plain = normalizeQuantities(plain)
  return [...plain.matchAll(TOKEN)].map(({ 0: token, index }) => {
    const lower = token.toLowerCase()
    const rest = plain.slice(index + token.length, index + token.length + 3)
    return {
      text: resolveAlias(americanSpelling(lower)),
      raw: token,
      endsClause: /^["')\]]*[.,;:!?\n—–]/.test(rest) || /^\s+[-–—]\s?/.test(rest),
    }
  })
}

/** Names such as C++, C#, node.js and at_rest stay whole, signs that say something (✅, ≥, $) are words of their own. */
const TOKEN = /[\p{L}\p{M}\p{N}_]+(?:[.’'@][\p{L}\p{N}_]+)*[+#]*%?|\p{S}+/gu

/** What is left of a word without its ending, so that caching, caches and cached are one. */
export function stem(word: string): string {
  if (/^us(?:e|es|ed|ing)$/.test(word)) return 'use'
  if (word.length < 4 || /[^a-z]/.test(word)) return word
  const cut = word
    .replace(/(?:ies|ied)$/, 'y')
    .replace(/(?<=[a-z]{3})(?:ing|ed|er|est)$/, '')
    .replace(/(?<=(?:s|x|z|ch|sh))es$/, '')
    .replace(/(?<=[^su])s$/, '')
    .replace(/(?<=[a-z]{2})e$/, '')
  return cut.length > 3 ? cut.replace(/([bdgklmnprt])\1$/, '$1') : cut
}

const FUNCTION_WORDS = new Set(
  (
    'a an the this that these those it its i we you they our your their my me us them is are was were be been being am do does did ' +
    'have has had will would shall should can could may might must to of in on at by for from with as and or but so then than too ' +
    'also very into onto over under up down out off about per via not no if there here which who what when where how why all any ' +
    'each every both more most less least such only own same s t just now ever even still yet while because since before after behind between until through within during once another one'
  ).split(' '),
)

/** Words that carry the meaning of a statement; the others hold it together. */
export function isContentWord(word: string): boolean {
  return !FUNCTION_WORDS.has(word)
}

export function contentStems(words: readonly Word[]): string[] {
  return words.filter(({ text }) => isContentWord(text)).map(({ text }) => stem(text))
}
