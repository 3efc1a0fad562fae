import { ANTONYMS, EXCLUSIVE_ALTERNATIVES, WEAK_ANTONYMS } from './antonym-lists.ts'
import { neitherIncludesOther } from './quantities.ts'
import type { Word } from './tokenizer.ts'
import { isContentWord, stem } from './tokenizer.ts'

interface PolarSide {
  line: number
  side: number
}

const ANTONYM_SIDES = sidesByStem(ANTONYMS)
const WEAK_ANTONYM_SIDES = sidesByStem(WEAK_ANTONYMS)
const ALTERNATIVE_SIDES = sidesByStem(EXCLUSIVE_ALTERNATIVES.replaceAll(' ', ' | '))

/** Prefixes that turn a word round, and pairs of them that point apart. */
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

/** True when the statements use words that exclude each other. */
export function containAntonyms(a: readonly Word[], b: readonly Word[]): boolean {
  const [mine, theirs] = [wordTexts(a), wordTexts(b)]
  return (
    takesOtherSide(mine, theirs, ANTONYM_SIDES) ||
    takesOtherSide(theirs, mine, ANTONYM_SIDES) ||
    takeDisjointSides(mine, theirs, WEAK_ANTONYM_SIDES) ||
    takeDisjointSides(mine, theirs, ALTERNATIVE_SIDES) ||
    hasOppositeAffix(mine, theirs) ||
    hasOppositeAffix(theirs, mine) ||
    bindsAntonymsDifferently(mine, theirs)
  )
}

function wordTexts(words: readonly Word[]): string[] {
  return words.map(({ text }) => text)
}

function sidesByStem(table: string): Map<string, PolarSide[]> {
  const stands = new Map<string, PolarSide[]>()
  table
    .trim()
    .split('\n')
    .forEach((row, line) => {
      row.split('|').forEach((words, side) => {
        for (const word of words.trim().split(' ')) {
          const known = stands.get(stem(word)) ?? []
          stands.set(stem(word), [...known, { line, side }])
        }
      })
    })
  return stands
}

/** Which sides of each line a statement takes. */
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

/** True when this holds of the sides that both take on some line of the table. */
function someLineMatches(
  table: SideTable,
  [a, b]: readonly [readonly string[], readonly string[]],
  holds: (mine: Sides, theirs: Sides) => boolean,
): boolean {
  const theirs = sidesTaken(b, table)
  return [...sidesTaken(a, table)].some(([line, sides]) => {
    const others = theirs.get(line)
    return others !== undefined && holds(sides, others)
  })
}

/** One takes a side of a line on which the other one has only other sides. */
function takesOtherSide(a: readonly string[], b: readonly string[], table: SideTable): boolean {
  return someLineMatches(table, [a, b], (mine, theirs) => [...mine].some((side) => !theirs.has(side)))
}

function takeDisjointSides(a: readonly string[], b: readonly string[], table: SideTable): boolean {
  return someLineMatches(table, [a, b], (mine, theirs) =>
    neitherIncludesOther([...mine].map(String), [...theirs].map(String)),
  )
}

/** lock and unlock, valid and invalid, upscale and downscale, stateful and stateless. */
function hasOppositeAffix(a: readonly string[], b: readonly string[]): boolean {
  const [mine, theirs] = [new Set(a.map(stem)), new Set(b.map(stem))]
  const [mineOnly, theirsOnly] = [difference(mine, theirs), difference(theirs, mine)]
  return mineOnly.some((word) => {
    const bare = word.replace(NEGATIVE_PREFIX, '')
    if (bare !== word && bare.length >= 3 && theirsOnly.includes(bare)) return true
    if (/(?:ful|less)$/.test(word) && theirsOnly.some((other) => other !== word && sameRoot(other, word))) return true
    return OPPOSITE_PREFIXES.some(([one, other]) => {
      const rest = word.startsWith(one) ? word.slice(one.length) : ''
      return rest.length >= 3 && theirsOnly.includes(`${other}${rest}`)
    })
  })
}

function sameRoot(a: string, b: string): boolean {
  return /(?:ful|less)$/.test(a) && a.replace(/(?:ful|less)$/, '') === b.replace(/(?:ful|less)$/, '')
}

function difference(set: ReadonlySet<string>, other: ReadonlySet<string>): string[] {
  return [...set].filter((word) => !other.has(word))
}

/** "Raise the timeout and lower the limit" against "lower the timeout and raise the limit": the same words, bound otherwise. */
function bindsAntonymsDifferently(a: readonly string[], b: readonly string[]): boolean {
  const [mine, theirs] = [boundAntonyms(a), boundAntonyms(b)]
  return [...mine].some(([word, stands]) => {
    const others = theirs.get(word)
    return (
      others !== undefined &&
      [...stands].some((stand) => others.has(oppositeSide(stand))) &&
      neitherIncludesOther([...stands], [...others])
    )
  })
}

/** For each content word the polar words that went before it most closely. */
function boundAntonyms(words: readonly string[]): Map<string, Set<string>> {
  const bound = new Map<string, Set<string>>()
  let current: readonly PolarSide[] = []
  for (const word of words) {
    const stands = ANTONYM_SIDES.get(stem(word))
    if (stands) current = stands
    else if (isContentWord(word) || word.length === 1) {
      const known = bound.get(stem(word)) ?? new Set<string>()
      for (const { line, side } of current) known.add(`${line}:${side}`)
      bound.set(stem(word), known)
    }
  }
  return bound
}

function oppositeSide(stand: string): string {
  const [line, side] = stand.split(':')
  return `${line}:${side === '0' ? 1 : 0}`
}
