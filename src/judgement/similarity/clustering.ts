import {
  contentStemSet,
  diceCoefficient,
  findContradiction,
  isEmbeddingUnreliable,
  normalizeStatement,
} from './similarity.ts'

/*
 * Invariants
 * 1. The order of the texts never changes who is with whom: everything is decided in the order of the normalised texts.
 * 2. What the guard forbids is never in one group, not even by way of a third text or of a model's word.
 * 3. Texts of a later wave change nothing in who of the earlier ones is with whom.
 * 4. A model's word joins whole groups that were found without it, and takes nobody out of one: it comes after a vote may
 *    have been stopped for who leads.
 */

export interface Clusters {
  groups: number[][]
  /** Pairs text cannot settle and a model might. */
  unclear: [number, number][]
}

/** A pair that was settled by somebody who read both texts. */
export interface PairVerdict {
  a: number
  b: number
  same: boolean
}

export interface ClusterOptions {
  similarity?: (a: number, b: number) => number
  threshold?: number
  margin?: number
  verdicts?: readonly PairVerdict[]
  /** In which wave a text came. */
  wave?: (index: number) => number
}

const DEFAULT_THRESHOLD = 0.75
const DEFAULT_MARGIN = 0.15
/** Without an embedder: texts that share so many words are worth a question to a model, and nothing more. */
const UNCLEAR_OVERLAP = 0.5
/**
 * Groups equivalent recommendations: equal normalised text, then pairs at or over the threshold that pass the guard. Every
 * two members of a group are such a pair. Pairs between `threshold - margin` and `threshold` that pass the guard are
 * unclear, and so are those over it about which vectors say nothing. `judged` are pairs a model settled.
 */
export function clusterTexts(texts: readonly string[], known: ClusterOptions = {}): Clusters {
  const atoms = groupEqualTexts(texts, known.wave ?? (() => 0))
  const bonds = findBonds(texts, atoms, known)
  const groups = linkCompletely(atoms.length, bonds.links).map((members) =>
    members.flatMap((member) => atoms[member]?.members ?? []).sort((a, b) => a - b),
  )
  return {
    groups: groups.sort((a, b) => first(a) - first(b)),
    unclear: bonds.unclear.sort(([a, b], [c, d]) => a - c || b - d),
  }
}

/** Equal normalised texts. Only the first of them are held against others: how later ones are written must not matter. */
interface EqualTexts {
  members: number[]
  representatives: number[]
  wave: number
}

/** In the order of the normalised texts. */
function groupEqualTexts(texts: readonly string[], wave: (index: number) => number): EqualTexts[] {
  const byText = new Map<string, number[]>()
  texts.forEach((text, index) => {
    const form = normalizeStatement(text)
    const members = byText.get(form)
    if (members) members.push(index)
    else byText.set(form, [index])
  })
  return [...byText]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, members]) => {
      const earliest = Math.min(...members.map(wave))
      return { members, representatives: members.filter((index) => wave(index) === earliest), wave: earliest }
    })
}

const EMPTY_SET: ReadonlySet<string> = new Set()

interface Bond {
  by: 'similarity' | 'verdict'
  strength: number
}

interface Link extends Bond {
  a: number
  b: number
  wave: number
}

interface Bonds {
  links: Link[]
  unclear: [number, number][]
}

function findBonds(texts: readonly string[], atoms: readonly EqualTexts[], known: ClusterOptions): Bonds {
  const verdicts = verdictsByPair(atoms, known.verdicts ?? [])
  const bonds: Bonds = { links: [], unclear: [] }
  const contents = known.similarity
    ? []
    : atoms.map(({ representatives }) => contentStemSet(texts[first(representatives)] ?? ''))
  atoms.forEach((mine, a) => {
    atoms.slice(a + 1).forEach((theirs, offset) => {
      const b = a + 1 + offset
      const alike = known.similarity
        ? lowestSimilarity(known.similarity, mine.representatives, theirs.representatives)
        : diceCoefficient(contents[a] ?? EMPTY_SET, contents[b] ?? EMPTY_SET)
      const question = { texts, known, alike, verdict: verdicts.get(`${a} ${b}`) }
      const bond = bondBetween(question, mine.representatives, theirs.representatives)
      if (bond === 'unclear') bonds.unclear.push(orderedPair(first(mine.members), first(theirs.members)))
      else if (bond !== undefined) bonds.links.push({ a, b, wave: Math.max(mine.wave, theirs.wave), ...bond })
    })
  })
  return bonds
}

interface PairContext {
  texts: readonly string[]
  known: ClusterOptions
  alike: number
  verdict: boolean | undefined
}

/** How strongly two texts are bound, or that nobody knows; undefined when they are not. */
function bondBetween(
  { texts, known, alike, verdict }: PairContext,
  mine: readonly number[],
  theirs: readonly number[],
): Bond | 'unclear' | undefined {
  const { similarity, threshold = DEFAULT_THRESHOLD, margin = DEFAULT_MARGIN } = known
  if (verdict !== true && !(alike >= (similarity ? threshold - margin : UNCLEAR_OVERLAP))) return undefined
  const pairs = mine.flatMap((a) => theirs.map((b) => [texts[a] ?? '', texts[b] ?? ''] as const))
  if (pairs.some(([a, b]) => findContradiction(a, b) !== undefined)) return undefined
  const measured = similarity && alike >= threshold && !pairs.some(([a, b]) => isEmbeddingUnreliable(a, b))
  if (measured) return { by: 'similarity', strength: alike }
  if (verdict === undefined) return 'unclear'
  return verdict ? { by: 'verdict', strength: alike } : undefined
}

function lowestSimilarity(
  similarity: (a: number, b: number) => number,
  mine: readonly number[],
  theirs: readonly number[],
): number {
  return Math.min(...mine.flatMap((a) => theirs.map((b) => similarity(a, b))))
}

/** By pair of atoms. Two verdicts that contradict each other are a no. */
function verdictsByPair(atoms: readonly EqualTexts[], judged: readonly PairVerdict[]): Map<string, boolean> {
  const atomOf = new Map(atoms.flatMap(({ members }, atom) => members.map((member) => [member, atom] as const)))
  const verdicts = new Map<string, boolean>()
  for (const { a, b, same } of judged) {
    const [one, other] = [atomOf.get(a), atomOf.get(b)]
    if (one === undefined || other === undefined || one === other) continue
    const key = orderedPair(one, other).join(' ')
    verdicts.set(key, same && verdicts.get(key) !== false)
  }
  return verdicts
}

/** Joins the earliest first, then what is bound most strongly; two groups only when all of both are bound to each other. */
function linkCompletely(count: number, links: readonly Link[]): number[][] {
  const bound = new Set<string>()
  const groupOf = Array.from({ length: count }, (_, atom) => [atom])
  for (const by of ['similarity', 'verdict'] as const) {
    const here = links.filter((link) => link.by === by).sort(compareLinks)
    for (const { a, b } of here) bound.add(`${a} ${b}`).add(`${b} ${a}`)
    for (const { a, b } of here) {
      const [one, other] = [groupOf[a] ?? [], groupOf[b] ?? []]
      if (one === other || !one.every((left) => other.every((right) => bound.has(`${left} ${right}`)))) continue
      const joined = [...one, ...other]
      for (const member of joined) groupOf[member] = joined
    }
  }
  return [...new Set(groupOf)]
}

function compareLinks(x: Link, y: Link): number {
  return x.wave - y.wave || y.strength - x.strength || x.a - y.a || x.b - y.b
}

function orderedPair(a: number, b: number): [number, number] {
  return a < b ? [a, b] : [b, a]
}

function first(members: readonly number[]): number {
  return members[0] ?? 0
}
