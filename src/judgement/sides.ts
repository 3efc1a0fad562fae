import { apart } from './quantities.ts'
import type { Word } from './words.ts'
import { isContent, stem } from './words.ts'

/** Words that say on which side of a relation something stands. `before` and `after` are one relation, read both ways. */
const RELATIONS: Readonly<Record<string, { kind: string; turned: boolean }>> = {
  over: { kind: 'over', turned: false },
  above: { kind: 'over', turned: false },
  than: { kind: 'over', turned: false },
  below: { kind: 'over', turned: true },
  under: { kind: 'over', turned: true },
  before: { kind: 'time', turned: false },
  after: { kind: 'time', turned: true },
  once: { kind: 'time', turned: true },
  then: { kind: 'time', turned: false },
  to: { kind: 'to', turned: false },
  into: { kind: 'to', turned: false },
  onto: { kind: 'to', turned: false },
  from: { kind: 'to', turned: true },
  with: { kind: 'with', turned: false },
  by: { kind: 'by', turned: false },
  via: { kind: 'by', turned: false },
  in: { kind: 'in', turned: false },
  on: { kind: 'in', turned: false },
  inside: { kind: 'in', turned: false },
  behind: { kind: 'behind', turned: false },
  for: { kind: 'for', turned: false },
  of: { kind: 'of', turned: false },
  as: { kind: 'as', turned: false },
  '>': { kind: 'over', turned: false },
  '<': { kind: 'over', turned: true },
  '→': { kind: 'to', turned: false },
}

/** True when the same relation holds between the same things the other way round: "A over B" and "B over A". */
export function sidesSwapped(a: readonly Word[], b: readonly Word[]): boolean {
  const theirs = sidesOf(b)
  return sidesOf(a).some((mine) =>
    theirs.some(
      ({ kind, near, far }) =>
        kind === mine.kind &&
        shares(mine.near, far, mine.far) &&
        (kind === 'time' || shares(mine.far, near, mine.near)),
    ),
  )
}

interface Sides {
  kind: string
  near: Set<string>
  far: Set<string>
}

/** A word of the one is in the other, and not on both sides of the relation already. */
function shares(one: ReadonlySet<string>, other: ReadonlySet<string>, opposite: ReadonlySet<string>): boolean {
  return [...one].some((word) => other.has(word) && !opposite.has(word))
}

function sidesOf(words: readonly Word[]): Sides[] {
  return words.flatMap(({ text }, index) => {
    const relation = Object.hasOwn(RELATIONS, text) ? RELATIONS[text] : undefined
    if (!relation) return []
    const [left, right] = around(words, index)
    const [near, far] = relation.turned ? [right, left] : [left, right]
    return near.size > 0 && far.size > 0 ? [{ kind: relation.kind, near, far }] : []
  })
}

/** The content words before and behind a place; "Before deploying, run the tests" is read from its comma. */
function around(words: readonly Word[], index: number): [Set<string>, Set<string>] {
  const comma = words.findIndex(({ ends }, at) => at > index && ends)
  const [left, right] =
    index === 0 && comma > 0 && comma < words.length - 1
      ? [words.slice(comma + 1), words.slice(1, comma + 1)]
      : [words.slice(0, index), words.slice(index + 1)]
  return [contents(left), contents(right)]
}

function contents(words: readonly Word[]): Set<string> {
  return new Set(nameables(words))
}

/** Single letters name options: "A over B". */
function isNameable(text: string): boolean {
  return isContent(text) || /^[a-z]$/.test(text)
}

/** Options that have letters for names. */
export function lettersDiffer(a: readonly Word[], b: readonly Word[]): boolean {
  const letters = (words: readonly Word[]) =>
    words.map(({ raw }) => raw).filter((raw) => /^[A-Z]$/.test(raw) && raw !== 'I')
  return apart(letters(a), letters(b))
}

/**
 * True when the same words stand in another order and nothing says that the order is free: "the gateway calls the worker"
 * and "the worker calls the gateway". Behind "and", "or" or a comma it is.
 */
export function reordered(a: readonly Word[], b: readonly Word[]): boolean {
  const [mine, theirs] = [nameables(a), nameables(b)]
  if (mine.join(' ') === theirs.join(' ') || [...mine].sort().join(' ') !== [...theirs].sort().join(' ')) return false
  if ([...a, ...b].some(({ text }) => RELATIONS[text]?.kind === 'time')) return false
  if (passiveOf(mine, theirs, b) || passiveOf(theirs, mine, a)) return false
  return ![...a.slice(0, -1), ...b.slice(0, -1)].some(({ text, ends }) => ends || text === 'and' || text === 'or')
}

/** "Encrypt the data at rest" and "data at rest should be encrypted": only the verb has moved. */
function passiveOf(active: readonly string[], passive: readonly string[], words: readonly Word[]): boolean {
  const [verb, ...rest] = active
  return words.some(({ text }) => /^(?:be|is|are)$/.test(text)) && rest.join(' ') === passive.filter((word) => word !== verb).join(' ')
}

function nameables(words: readonly Word[]): string[] {
  return words.filter(({ text }) => isNameable(text)).map(({ text }) => stem(text))
}
