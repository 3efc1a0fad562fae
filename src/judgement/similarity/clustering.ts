import {
  contentStemSet,
  diceCoefficient,
  findContradiction,
  isEmbeddingUnreliable,
  normalizeStatement,
} from './similarity.ts'

/*
 * Complete-linkage clustering of recommendations.
 * 1. The order of the texts never changes the groups: all decisions follow the order of the normalised texts.
 * 2. Two texts with a contradiction are never in one group, neither through a third text nor by a verdict.
 * 3. Texts of a later wave never change the grouping of earlier texts.
 * 4. A verdict of a model merges whole groups and never splits one: a vote may already have stopped early because of
 *    the group in the lead.
 */

export interface Clusters {
  groups: number[][]
  /** Pairs that need the verdict of a model. */
  unclear: [number, number][]
}

/** The decision of a model about one pair of texts. */
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
  /** The wave in which a text was contributed. */
  wave?: (index: number) => number
}

const DEFAULT_THRESHOLD = 0.75
const DEFAULT_MARGIN = 0.15
/** Without an embedder, texts with this word overlap are unclear; they are never merged without a verdict. */
const UNCLEAR_OVERLAP = 0.5

/**
 * Groups equivalent recommendations: equal normalised texts, then pairs at or above `threshold` without a
 * contradiction. Every two members of a group are such a pair. Pairs between `threshold - margin` and `threshold` are
 * unclear, and so are pairs above it whose embeddings are unreliable. `verdicts` decide unclear pairs.
 */
export function clusterTexts(texts: readonly string[], options: ClusterOptions = {}): Clusters {
  const atoms = groupEqualTexts(texts, options.wave ?? (() => 0))
  const bonds = findBonds(texts, atoms, options)
  const groups = linkCompletely(atoms.length, bonds.links).map((members) =>
    members.flatMap((member) => atoms[member]?.members ?? []).sort((a, b) => a - b),
  )
  return {
    groups: groups.sort((a, b) => first(a) - first(b)),
    unclear: bonds.unclear.sort(([a, b], [c, d]) => a - c || b - d),
  }
}

/** Texts with the same normalised form. */
interface EqualTexts {
  members: number[]
  /** Members of the earliest wave. Only these are compared, so that later texts never change earlier groups. */
  representatives: number[]
  wave: number
}

function groupEqualTexts(texts: readonly string[], wave: (index: number) => number): EqualTexts[] {
  const byText = new Map<string, number[]>()
  texts.forEach((text, index) => {
    const normalized = normalizeStatement(text)
    const members = byText.get(normalized)
    if (members) members.push(index)
    else byText.set(normalized, [index])
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
  source: 'similarity' | 'verdict'
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

function findBonds(texts: readonly string[], atoms: readonly EqualTexts[], options: ClusterOptions): Bonds {
  const verdicts = verdictsByPair(atoms, options.verdicts ?? [])
  const bonds: Bonds = { links: [], unclear: [] }
  const stems = options.similarity
    ? []
    : atoms.map(({ representatives }) => contentStemSet(texts[first(representatives)] ?? ''))
  atoms.forEach((atomA, a) => {
    atoms.slice(a + 1).forEach((atomB, offset) => {
      const b = a + 1 + offset
      const similarity = options.similarity
        ? lowestSimilarity(options.similarity, atomA.representatives, atomB.representatives)
        : diceCoefficient(stems[a] ?? EMPTY_SET, stems[b] ?? EMPTY_SET)
      const pair = { texts, options, similarity, verdict: verdicts.get(`${a} ${b}`) }
      const bond = bondBetween(pair, atomA.representatives, atomB.representatives)
      if (bond === 'unclear') bonds.unclear.push(orderedPair(first(atomA.members), first(atomB.members)))
      else if (bond !== undefined) bonds.links.push({ a, b, wave: Math.max(atomA.wave, atomB.wave), ...bond })
    })
  })
  return bonds
}

interface PairContext {
  texts: readonly string[]
  options: ClusterOptions
  similarity: number
  verdict: boolean | undefined
}

/** The bond of two sets of equal texts; `undefined` when they differ. */
function bondBetween(
  { texts, options, similarity, verdict }: PairContext,
  membersA: readonly number[],
  membersB: readonly number[],
): Bond | 'unclear' | undefined {
  const { similarity: embedded, threshold = DEFAULT_THRESHOLD, margin = DEFAULT_MARGIN } = options
  if (verdict !== true && !(similarity >= (embedded ? threshold - margin : UNCLEAR_OVERLAP))) return undefined
  const pairs = membersA.flatMap((a) => membersB.map((b) => [texts[a] ?? '', texts[b] ?? ''] as const))
  if (pairs.some(([a, b]) => findContradiction(a, b) !== undefined)) return undefined
  const isSimilar = embedded && similarity >= threshold && !pairs.some(([a, b]) => isEmbeddingUnreliable(a, b))
  if (isSimilar) return { source: 'similarity', strength: similarity }
  if (verdict === undefined) return 'unclear'
  return verdict ? { source: 'verdict', strength: similarity } : undefined
}

function lowestSimilarity(
  similarity: (a: number, b: number) => number,
  membersA: readonly number[],
  membersB: readonly number[],
): number {
  return Math.min(...membersA.flatMap((a) => membersB.map((b) => similarity(a, b))))
}

/** Verdicts by pair of atoms. Contradicting verdicts count as "not the same". */
function verdictsByPair(atoms: readonly EqualTexts[], pairVerdicts: readonly PairVerdict[]): Map<string, boolean> {
  const atomByMember = new Map(atoms.flatMap(({ members }, atom) => members.map((member) => [member, atom] as const)))
  const verdicts = new Map<string, boolean>()
  for (const { a, b, same } of pairVerdicts) {
    const [atomA, atomB] = [atomByMember.get(a), atomByMember.get(b)]
    if (atomA === undefined || atomB === undefined || atomA === atomB) continue
    const key = orderedPair(atomA, atomB).join(' ')
    verdicts.set(key, same && verdicts.get(key) !== false)
  }
  return verdicts
}

/**
 * Complete linkage: merges two groups only when every pair of their members has a link. Earliest wave, then strongest,
 * first.
 */
function linkCompletely(count: number, links: readonly Link[]): number[][] {
  const linkedPairs = new Set<string>()
  const groups = Array.from({ length: count }, (_, atom) => [atom])
  for (const source of ['similarity', 'verdict'] as const) {
    const candidates = links.filter((link) => link.source === source).sort(compareLinks)
    for (const { a, b } of candidates) linkedPairs.add(`${a} ${b}`).add(`${b} ${a}`)
    for (const { a, b } of candidates) {
      const [groupA, groupB] = [groups[a] ?? [], groups[b] ?? []]
      if (groupA === groupB) continue
      if (!groupA.every((left) => groupB.every((right) => linkedPairs.has(`${left} ${right}`)))) continue
      const merged = [...groupA, ...groupB]
      for (const member of merged) groups[member] = merged
    }
  }
  return [...new Set(groups)]
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
