import type { Word } from './tokenizer.ts'

/** Phrases that introduce a recommendation and add nothing to it; sorted longest first. */
const OPENINGS: readonly string[][] = [
  'my recommendation is to',
  'my recommendation is that we',
  'my recommendation is',
  'our recommendation is to',
  'our recommendation is',
  'the best option is to',
  'the best approach is to',
  'the best option would be to',
  'it would be best to',
  'it is best to',
  'it would be better to',
  'in my opinion',
  'in my view',
  'from my perspective',
  'i would recommend to',
  'i would recommend that we',
  'i would recommend',
  'i would suggest to',
  'i would suggest',
  'i recommend to',
  'i recommend that we',
  'i recommend that you',
  'i recommend',
  'i suggest to',
  'i suggest that we',
  'i suggest',
  'i think that',
  'i think',
  'i believe that',
  'i believe',
  'i propose to',
  'i propose',
  'we recommend to',
  'we recommend',
  'we should',
  'you should',
  'let us',
  'recommend to',
  'please',
  'kindly',
  'just',
  'simply',
]
  .map((opening) => opening.split(' '))
  .sort((a, b) => b.length - a.length)

const EMPTY_WORDS = new Set(['please', 'kindly', 'really', 'basically', 'actually', 'definitely', 'certainly'])
/** Filler only before a comma: "Overall, …" but not "overall performance". */
const INTERJECTIONS = new Set(['overall', 'well', 'so', 'recommendation', 'okay', 'sure'])
const ARTICLES = new Set(['a', 'an', 'the'])
/** Nouns after which a single letter is a name: option A, type a. */
const LETTERED_NOUNS = new Set(
  'option plan variant version type class tier grade choice alternative approach design proposal candidate model vitamin'.split(
    ' ',
  ),
)
/** Words that never follow an article: an "A" before them is a name, as in "A over B". */
const NON_NOUNS = new Set(
  'over and or than instead rather before after is are was to with not nor if then versus vs because for in on as but should few little bit lot'.split(
    ' ',
  ),
)

/** Removes polite openings, articles and filler words. */
export function stripFiller(words: readonly Word[]): Word[] {
  const statement = stripOpening(words)
  return statement.filter(({ text, raw, endsClause }, index) => {
    // "not really safe" is weaker than "not safe".
    if (EMPTY_WORDS.has(text)) return statement[index - 1]?.text === 'not'
    // "do not" equals "not".
    if (/^(?:do|does|did)$/.test(text) && statement[index + 1]?.text === 'not') return false
    if (!ARTICLES.has(text)) return true
    const [previous, next] = [statement[index - 1], statement[index + 1]]
    const isName = raw === 'A' && index > 0 && previous?.endsClause !== true
    return (
      isName || endsClause || next === undefined || NON_NOUNS.has(next.text) || LETTERED_NOUNS.has(previous?.text ?? '')
    )
  })
}

function stripOpening(words: readonly Word[]): readonly Word[] {
  const [head, ...rest] = words
  if (head?.endsClause && INTERJECTIONS.has(head.text) && rest.length > 0) return stripOpening(rest)
  const opening = OPENINGS.find(
    (candidate) => candidate.length < words.length && candidate.every((word, index) => words[index]?.text === word),
  )
  return opening ? stripOpening(words.slice(opening.length)) : words
}
