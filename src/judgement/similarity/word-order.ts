import { neitherIncludesOther } from './quantities.ts'
import type { Word } from './tokenizer.ts'
import { isContentWord, stem } from './tokenizer.ts'

interface Relation {
  kind: string
  reversed: boolean
}

/** Words that say on which side of a relation something stands. `before` and `after` are one relation, read both ways. */
const RELATIONS: ReadonlyMap<string, Relation> = new Map(
  Object.entries({
    over: { ahead: 'over above than >', behind: 'below under <' },
    time: { ahead: 'before then', behind: 'after once' },
    to: { ahead: 'to into onto →', behind: 'from' },
    with: { ahead: 'with', behind: '' },
    by: { ahead: 'by via', behind: '' },
    in: { ahead: 'in on inside', behind: '' },
    behind: { ahead: 'behind', behind: '' },
    for: { ahead: 'for', behind: '' },
    of: { ahead: 'of', behind: '' },
    as: { ahead: 'as', behind: '' },
  }).flatMap(([kind, { ahead, behind }]) => [
    ...ahead.split(' ').map((word): [string, Relation] => [word, { kind, reversed: false }]),
    ...behind.split(' ').map((word): [string, Relation] => [word, { kind, reversed: true }]),
  ]),
)

/** True when the same relation holds between the same things the other way round: "A over B" and "B over A". */
export function relationsSwapped(a: readonly Word[], b: readonly Word[]): boolean {
  const theirs = relationSides(b)
  return relationSides(a).some((mine) =>
    theirs.some((other) => {
      if (other.kind !== mine.kind) return false
      const [there, back] = [hasSwappedWord(mine, other), hasSwappedWord(other, mine)]
      // Of two times one is enough: "test before the release" and "test after shipping".
      return mine.kind === 'time' ? there || back : there && back
    }),
  )
}

interface RelationSides {
  kind: string
  near: Set<string>
  far: Set<string>
}

/** Something that is near in the one is far in the other, and in neither of them on both sides. */
function hasSwappedWord(one: RelationSides, other: RelationSides): boolean {
  return [...one.near].some((word) => other.far.has(word) && !one.far.has(word) && !other.near.has(word))
}

function relationSides(words: readonly Word[]): RelationSides[] {
  return words.flatMap(({ text }, index) => {
    const relation = RELATIONS.get(text)
    if (!relation) return []
    const [left, right] = surroundingWords(words, index)
    const [near, far] = relation.reversed ? [right, left] : [left, right]
    return near.size > 0 && far.size > 0 ? [{ kind: relation.kind, near, far }] : []
  })
}

/** The content words before and behind a place; "Before deploying, run the tests" is read from its comma. */
function surroundingWords(words: readonly Word[], index: number): [Set<string>, Set<string>] {
  const comma = words.findIndex(({ endsClause }, at) => at > index && endsClause)
  const [left, right] =
    index === 0 && comma > 0 && comma < words.length - 1
      ? [words.slice(comma + 1), words.slice(1, comma + 1)]
      : [words.slice(0, index), words.slice(index + 1)]
  return [nameableStemSet(left), nameableStemSet(right)]
}

function nameableStemSet(words: readonly Word[]): Set<string> {
  return new Set(nameableStems(words))
}

/** Single letters name options: "A over B". */
function isNameable(text: string): boolean {
  return isContentWord(text) || /^[a-z]$/.test(text)
}

/** Options that have letters for names. */
export function optionLettersDiffer(a: readonly Word[], b: readonly Word[]): boolean {
  const letters = (words: readonly Word[]) =>
    words.map(({ raw }) => raw).filter((raw) => /^[A-Z]$/.test(raw) && raw !== 'I')
  return neitherIncludesOther(letters(a), letters(b))
}

/**
 * True when the same words stand in another order and the order says something: "the gateway calls the worker" and "the
 * worker calls the gateway". Whole clauses may change places, and a passive may move the verb.
 */
export function wordOrderDiffers(a: readonly Word[], b: readonly Word[]): boolean {
  if (sameWords(a, b)) return sortedClauses(splitClauses(a, wordTexts)) !== sortedClauses(splitClauses(b, wordTexts))
  const [mine, theirs] = [nameableStems(a), nameableStems(b)]
  if (mine.join(' ') === theirs.join(' ') || [...mine].sort().join(' ') !== [...theirs].sort().join(' ')) return false
  if ([...a, ...b].some(({ text }) => RELATIONS.get(text)?.kind === 'time')) return false
  if (isPassiveForm(mine, theirs, b) || isPassiveForm(theirs, mine, a)) return false
  const [clauses, others] = [splitClauses(a, nameableStems), splitClauses(b, nameableStems)]
  return sortedClauses(clauses) !== sortedClauses(others) && !isRotation(clauses, others)
}

function sameWords(a: readonly Word[], b: readonly Word[]): boolean {
  const rest = b.map(({ text }) => text)
  return (
    a.length === b.length &&
    [...wordTexts(a)].sort().join(' ') === rest.sort().join(' ') &&
    !isRotation(splitClauses(a, wordTexts), splitClauses(b, wordTexts))
  )
}

function wordTexts(words: readonly Word[]): string[] {
  return words.map(({ text }) => text)
}

function sortedClauses(clauses: readonly string[]): string {
  return [...clauses].sort().join('; ')
}

function splitClauses(words: readonly Word[], told: (words: readonly Word[]) => string[]): string[] {
  const clauses: Word[][] = [[]]
  for (const word of words) {
    if (/^(?:and|or|to|by)$/.test(word.text)) clauses.push([])
    else clauses.at(-1)?.push(word)
    if (word.endsClause) clauses.push([])
  }
  return clauses.map((clause) => told(clause).join(' ')).filter((clause) => clause !== '')
}

/** "In production, enable caching" and "enable caching in production". */
function isRotation(a: readonly string[], b: readonly string[]): boolean {
  const turned = (clauses: readonly string[]) => [...clauses.slice(1), ...clauses.slice(0, 1)].join(' ')
  return turned(a) === b.join(' ') || a.join(' ') === turned(b)
}

/** "Encrypt the data at rest" and "data at rest should be encrypted": only the verb has moved. */
function isPassiveForm(active: readonly string[], passive: readonly string[], words: readonly Word[]): boolean {
  const [verb, ...rest] = active
  const participle = words.some(({ text }) => /^(?:be|is|are)$/.test(text)) || /ed$/.test(words.at(-1)?.text ?? '')
  return participle && rest.join(' ') === passive.filter((word) => word !== verb).join(' ')
}

function nameableStems(words: readonly Word[]): string[] {
  return words.filter(({ text }) => isNameable(text)).map(({ text }) => stem(text))
}
