import { neitherIncludesOther } from './quantities.ts'
import type { Word } from './tokenizer.ts'
import { isContentWord, stem, wordTexts } from './tokenizer.ts'

interface Relation {
  kind: string
  reversed: boolean
}

/** Words that relate their left and right side. `before` and `after` are one relation in opposite directions. */
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

/** Whether the same relation holds in the opposite direction: "A over B" and "B over A". */
export function relationsSwapped(a: readonly Word[], b: readonly Word[]): boolean {
  const relationsOfB = relationSides(b)
  return relationSides(a).some((relationA) =>
    relationsOfB.some((relationB) => {
      if (relationB.kind !== relationA.kind) return false
      const [forward, backward] = [hasSwappedWord(relationA, relationB), hasSwappedWord(relationB, relationA)]
      // For time one side is enough: "test before the release" and "test after shipping".
      return relationA.kind === 'time' ? forward || backward : forward && backward
    }),
  )
}

/** Whether only the direction of a relation differs: "test before the release" and "test after the release". */
export function relationReversed(a: readonly Word[], b: readonly Word[]): boolean {
  if (a.length !== b.length) return false
  const replaced = a.flatMap(({ text }, index) =>
    text === b[index]?.text ? [] : [[text, b[index]?.text ?? ''] as const],
  )
  const isReversal = ([one, other]: readonly [string, string]) => {
    const [relation, opposite] = [RELATIONS.get(one), RELATIONS.get(other)]
    return relation !== undefined && relation.kind === opposite?.kind && relation.reversed !== opposite.reversed
  }
  return replaced.length > 0 && replaced.every(isReversal)
}

interface RelationSides {
  kind: string
  near: Set<string>
  far: Set<string>
}

/** Whether a word that is only on the near side of `a` is only on the far side of `b`. */
function hasSwappedWord(a: RelationSides, b: RelationSides): boolean {
  return [...a.near].some((word) => b.far.has(word) && !a.far.has(word) && !b.near.has(word))
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

/**
 * The content words before and after an index. In "Before deploying, run the tests" the left side is after the comma.
 */
function surroundingWords(words: readonly Word[], index: number): [Set<string>, Set<string>] {
  const comma = words.findIndex(({ endsClause }, position) => position > index && endsClause)
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

/** Whether each statement names a lettered option that the other lacks: "Option A" and "Option B". */
export function optionLettersDiffer(a: readonly Word[], b: readonly Word[]): boolean {
  const letters = (words: readonly Word[]) =>
    words.map(({ raw }) => raw).filter((raw) => /^[A-Z]$/.test(raw) && raw !== 'I')
  return neitherIncludesOther(letters(a), letters(b))
}

/**
 * Whether the same words in a different order change the meaning: "the gateway calls the worker" and "the worker calls
 * the gateway". Clauses in a different order and the passive voice do not count.
 */
export function wordOrderDiffers(a: readonly Word[], b: readonly Word[]): boolean {
  if (sameWords(a, b)) return sortedClauses(splitClauses(a, wordTexts)) !== sortedClauses(splitClauses(b, wordTexts))
  const [stemsOfA, stemsOfB] = [nameableStems(a), nameableStems(b)]
  if (stemsOfA.join(' ') === stemsOfB.join(' ') || sortedText(stemsOfA) !== sortedText(stemsOfB)) return false
  if ([...a, ...b].some(({ text }) => RELATIONS.get(text)?.kind === 'time')) return false
  if (isPassiveForm(stemsOfA, stemsOfB, b) || isPassiveForm(stemsOfB, stemsOfA, a)) return false
  const [clausesOfA, clausesOfB] = [splitClauses(a, nameableStems), splitClauses(b, nameableStems)]
  return sortedClauses(clausesOfA) !== sortedClauses(clausesOfB) && !isRotation(clausesOfA, clausesOfB)
}

function sameWords(a: readonly Word[], b: readonly Word[]): boolean {
  return (
    a.length === b.length &&
    sortedText(wordTexts(a)) === sortedText(wordTexts(b)) &&
    !isRotation(splitClauses(a, wordTexts), splitClauses(b, wordTexts))
  )
}

function sortedText(words: readonly string[]): string {
  return [...words].sort().join(' ')
}

function sortedClauses(clauses: readonly string[]): string {
  return [...clauses].sort().join('; ')
}

function splitClauses(words: readonly Word[], toTexts: (words: readonly Word[]) => string[]): string[] {
  const clauses: Word[][] = [[]]
  for (const word of words) {
    if (/^(?:and|or|to|by)$/.test(word.text)) clauses.push([])
    else clauses.at(-1)?.push(word)
    if (word.endsClause) clauses.push([])
  }
  return clauses.map((clause) => toTexts(clause).join(' ')).filter((clause) => clause !== '')
}

/** "In production, enable caching" and "enable caching in production". */
function isRotation(a: readonly string[], b: readonly string[]): boolean {
  const rotate = (clauses: readonly string[]) => [...clauses.slice(1), ...clauses.slice(0, 1)].join(' ')
  return rotate(a) === b.join(' ') || a.join(' ') === rotate(b)
}

/** "Encrypt the data at rest" and "data at rest should be encrypted": only the position of the verb differs. */
function isPassiveForm(active: readonly string[], passive: readonly string[], words: readonly Word[]): boolean {
  const [verb, ...rest] = active
  const isPassive = words.some(({ text }) => /^(?:be|is|are)$/.test(text)) || /ed$/.test(words.at(-1)?.text ?? '')
  return isPassive && rest.join(' ') === passive.filter((word) => word !== verb).join(' ')
}

function nameableStems(words: readonly Word[]): string[] {
  return words.filter(({ text }) => isNameable(text)).map(({ text }) => stem(text))
}
