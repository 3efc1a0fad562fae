import { ALTERNATIVES, LOOSELY_OPPOSED, OPPOSED } from './opposite-words.ts'
import { apart } from './quantities.ts'
import type { Word } from './words.ts'
import { isContent, stem } from './words.ts'

interface Stand {
  line: number
  side: number
}

const STRONG = sidesByStem(OPPOSED)
const LOOSE = sidesByStem(LOOSELY_OPPOSED)
const FAMILIES = sidesByStem(ALTERNATIVES.replaceAll(' ', ' | '))

/** Prefixes that turn a word round, and pairs of them that point apart. */
const TURNING = /^(?:un|dis|in|im|ir|il|non|de|a|anti|mis|counter)-?/
const PREFIXES: readonly (readonly [string, string])[] = [
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
export function opposed(a: readonly Word[], b: readonly Word[]): boolean {
  const [mine, theirs] = [textsOf(a), textsOf(b)]
  return (
    standsDiffer(mine, theirs, STRONG) ||
    standsDiffer(theirs, mine, STRONG) ||
    standsApart(mine, theirs, LOOSE) ||
    standsApart(mine, theirs, FAMILIES) ||
    turnedRound(mine, theirs) ||
    turnedRound(theirs, mine) ||
    boundOtherwise(mine, theirs)
  )
}

function textsOf(words: readonly Word[]): string[] {
  return words.map(({ text }) => text)
}

function sidesByStem(table: string): Map<string, Stand[]> {
  const stands = new Map<string, Stand[]>()
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
function standsOf(words: readonly string[], table: ReadonlyMap<string, readonly Stand[]>): Map<number, Set<number>> {
  const taken = new Map<number, Set<number>>()
  for (const word of words) {
    for (const { line, side } of table.get(stem(word)) ?? []) {
      taken.set(line, (taken.get(line) ?? new Set()).add(side))
    }
  }
  return taken
}

type Stands = ReadonlyMap<string, readonly Stand[]>
type Sides = ReadonlySet<Stand['side']>

/** True when this holds of the sides that both take on some line of the table. */
function onSomeLine(
  table: Stands,
  [a, b]: readonly [readonly string[], readonly string[]],
  holds: (mine: Sides, theirs: Sides) => boolean,
): boolean {
  const theirs = standsOf(b, table)
  return [...standsOf(a, table)].some(([line, sides]) => {
    const others = theirs.get(line)
    return others !== undefined && holds(sides, others)
  })
}

/** One takes a side of a line on which the other one has only other sides. */
function standsDiffer(a: readonly string[], b: readonly string[], table: Stands): boolean {
  return onSomeLine(table, [a, b], (mine, theirs) => [...mine].some((side) => !theirs.has(side)))
}

function standsApart(a: readonly string[], b: readonly string[], table: Stands): boolean {
  return onSomeLine(table, [a, b], (mine, theirs) => apart([...mine].map(String), [...theirs].map(String)))
}

/** lock and unlock, valid and invalid, upscale and downscale, stateful and stateless. */
function turnedRound(a: readonly string[], b: readonly string[]): boolean {
  const [mine, theirs] = [new Set(a.map(stem)), new Set(b.map(stem))]
  const [mineOnly, theirsOnly] = [minus(mine, theirs), minus(theirs, mine)]
  return mineOnly.some((word) => {
    const bare = word.replace(TURNING, '')
    if (bare !== word && bare.length >= 3 && theirsOnly.includes(bare)) return true
    if (/(?:ful|less)$/.test(word) && theirsOnly.some((other) => other !== word && sameRoot(other, word))) return true
    return PREFIXES.some(([one, other]) => {
      const rest = word.startsWith(one) ? word.slice(one.length) : ''
      return rest.length >= 3 && theirsOnly.includes(`${other}${rest}`)
    })
  })
}

function sameRoot(a: string, b: string): boolean {
  return /(?:ful|less)$/.test(a) && a.replace(/(?:ful|less)$/, '') === b.replace(/(?:ful|less)$/, '')
}

function minus(set: ReadonlySet<string>, other: ReadonlySet<string>): string[] {
  return [...set].filter((word) => !other.has(word))
}

/** "Raise the timeout and lower the limit" against "lower the timeout and raise the limit": the same words, bound otherwise. */
function boundOtherwise(a: readonly string[], b: readonly string[]): boolean {
  const [mine, theirs] = [boundTo(a), boundTo(b)]
  return [...mine].some(([word, stands]) => {
    const others = theirs.get(word)
    return (
      others !== undefined &&
      [...stands].some((stand) => others.has(contrary(stand))) &&
      apart([...stands], [...others])
    )
  })
}

/** For each content word the polar words that went before it most closely. */
function boundTo(words: readonly string[]): Map<string, Set<string>> {
  const bound = new Map<string, Set<string>>()
  let current: readonly Stand[] = []
  for (const word of words) {
    const stands = STRONG.get(stem(word))
    if (stands) current = stands
    else if (isContent(word) || word.length === 1) {
      const known = bound.get(stem(word)) ?? new Set<string>()
      for (const { line, side } of current) known.add(`${line}:${side}`)
      bound.set(stem(word), known)
    }
  }
  return bound
}

function contrary(stand: string): string {
  const [line, side] = stand.split(':')
  return `${line}:${side === '0' ? 1 : 0}`
}
