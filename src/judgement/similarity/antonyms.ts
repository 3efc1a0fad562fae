import { ANTONYMS, EXCLUSIVE_ALTERNATIVES, WEAK_ANTONYMS } from './antonym-lists.ts'
import { neitherIncludesOther } from './quantities.ts'
import type { Word } from './tokenizer.ts'
import { isContentWord, stem, wordTexts } from './tokenizer.ts'

interface PolarSide {
  line: number
  side: number
}

const ANTONYM_SIDES = sidesByStem(ANTONYMS)
const WEAK_ANTONYM_SIDES = sidesByStem(WEAK_ANTONYMS)
const ALTERNATIVE_SIDES = sidesByStem(EXCLUSIVE_ALTERNATIVES.replaceAll(' ', ' | '))

/** Prefixes that turn a word into its opposite. */
const NEGATIVE_PREFIX = /^(?:un|dis|in|im|ir|il|non|de|a|anti|mis|counter)-?/
const OPPOSITE_PREFIXES: readonly (readonly [string, string])[] = [
  ['up', 'down'],
  ['over', 'under'],
  ['in', 'out'],
  ['pre', 'post'],
  ['front', 'back'],
  ['mono', 'multi'],
  ['intra', 'inter'],
  ['for', 'back'],
  ['en', 'de'],
  ['in', 'ex'],
  ['en', 'dis'],
  ['as', 'des'],
]

/** Whether two statements use words that exclude each other. */
export function containAntonyms(a: readonly Word[], b: readonly Word[]): boolean {
  const [textsA, textsB] = [wordTexts(a), wordTexts(b)]
  return (
    takesOtherSide(textsA, textsB, ANTONYM_SIDES) ||
    takesOtherSide(textsB, textsA, ANTONYM_SIDES) ||
    takeDisjointSides(textsA, textsB, WEAK_ANTONYM_SIDES) ||
    takeDisjointSides(textsA, textsB, ALTERNATIVE_SIDES) ||
    hasOppositeAffix(textsA, textsB) ||
    hasOppositeAffix(textsB, textsA) ||
    bindsAntonymsDifferently(textsA, textsB)
  )
}

function sidesByStem(table: string): Map<string, PolarSide[]> {
  const sides = new Map<string, PolarSide[]>()
  table
    .trim()
    .split('\n')
    .forEach((row, line) => {
      row.split('|').forEach((words, side) => {
        for (const word of words.trim().split(' ')) {
          const known = sides.get(stem(word)) ?? []
          sides.set(stem(word), [...known, { line, side }])
        }
      })
    })
  return sides
}

/** The sides of each line whose words a statement uses. */
function sidesTaken(
  words: readonly string[],
  table: ReadonlyMap<string, readonly PolarSide[]>,
): Map<number, Set<number>> {
  const taken = new Map<number, Set<number>>()
  for (const word of words) {
    for (const { line, side } of table.get(stem(word)) ?? []) {
      taken.set(line, (taken.get(line) ?? new Set()).add(side))
    }
  }
  return taken
}

type SideTable = ReadonlyMap<string, readonly PolarSide[]>
type Sides = ReadonlySet<PolarSide['side']>

/** Whether the predicate is true for the sides that both statements take on some line of the table. */
function someLineMatches(
  table: SideTable,
  [a, b]: readonly [readonly string[], readonly string[]],
  predicate: (sidesOfA: Sides, sidesOfB: Sides) => boolean,
): boolean {
  const takenByB = sidesTaken(b, table)
  return [...sidesTaken(a, table)].some(([line, sidesOfA]) => {
    const sidesOfB = takenByB.get(line)
    return sidesOfB !== undefined && predicate(sidesOfA, sidesOfB)
  })
}

/** Whether `a` takes a side of a line on which `b` takes only other sides. */
function takesOtherSide(a: readonly string[], b: readonly string[], table: SideTable): boolean {
  return someLineMatches(table, [a, b], (sidesOfA, sidesOfB) => [...sidesOfA].some((side) => !sidesOfB.has(side)))
}

function takeDisjointSides(a: readonly string[], b: readonly string[], table: SideTable): boolean {
  return someLineMatches(table, [a, b], (sidesOfA, sidesOfB) =>
    neitherIncludesOther([...sidesOfA].map(String), [...sidesOfB].map(String)),
  )
}

/** lock and unlock, valid and invalid, upscale and downscale, stateful and stateless. */
function hasOppositeAffix(a: readonly string[], b: readonly string[]): boolean {
  const [stemsOfA, stemsOfB] = [new Set(a.map(stem)), new Set(b.map(stem))]
  const [onlyInA, onlyInB] = [difference(stemsOfA, stemsOfB), difference(stemsOfB, stemsOfA)]
  return onlyInA.some((word) => {
    const root = word.replace(NEGATIVE_PREFIX, '')
    if (root !== word && root.length >= 3 && onlyInB.includes(root)) return true
    if (/(?:ful|less)$/.test(word) && onlyInB.some((other) => other !== word && sameRoot(other, word))) return true
    return OPPOSITE_PREFIXES.some(([prefix, opposite]) => {
      const rest = word.startsWith(prefix) ? word.slice(prefix.length) : ''
      return rest.length >= 3 && onlyInB.includes(`${opposite}${rest}`)
    })
  })
}

function sameRoot(a: string, b: string): boolean {
  return /(?:ful|less)$/.test(a) && a.replace(/(?:ful|less)$/, '') === b.replace(/(?:ful|less)$/, '')
}

function difference(set: ReadonlySet<string>, other: ReadonlySet<string>): string[] {
  return [...set].filter((word) => !other.has(word))
}

/**
 * "Raise the timeout and lower the limit" against "lower the timeout and raise the limit": the antonyms are swapped.
 */
function bindsAntonymsDifferently(a: readonly string[], b: readonly string[]): boolean {
  const [boundInA, boundInB] = [boundAntonyms(a), boundAntonyms(b)]
  return [...boundInA].some(([word, sidesInA]) => {
    const sidesInB = boundInB.get(word)
    return (
      sidesInB !== undefined &&
      [...sidesInA].some((side) => sidesInB.has(oppositeSide(side))) &&
      neitherIncludesOther([...sidesInA], [...sidesInB])
    )
  })
}

/** For each content word the sides of the closest antonym before it. */
function boundAntonyms(words: readonly string[]): Map<string, Set<string>> {
  const bound = new Map<string, Set<string>>()
  let current: readonly PolarSide[] = []
  for (const word of words) {
    const sides = ANTONYM_SIDES.get(stem(word))
    if (sides) current = sides
    else if (isContentWord(word) || word.length === 1) {
      const known = bound.get(stem(word)) ?? new Set<string>()
      for (const { line, side } of current) known.add(`${line}:${side}`)
      bound.set(stem(word), known)
    }
  }
  return bound
}

function oppositeSide(lineAndSide: string): string {
  const [line, side] = lineAndSide.split(':')
  return `${line}:${side === '0' ? 1 : 0}`
}
