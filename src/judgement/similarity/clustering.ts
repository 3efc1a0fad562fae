import type { ParsedStatement } from './similarity.ts'
import {
  contentStemSet,
  contradictionBetween,
  diceCoefficient,
  isEmbeddingUnreliable,
  parseStatement,
} from './similarity.ts'

/*
 * Complete-linkage clustering of recommendations.
 * 1. The order of the texts never changes the groups: all decisions follow the order of the normalised texts.
 * 2. Two texts with a contradiction are never in one group, neither through a third text nor by a verdict.
 * 3. Texts of a later wave never change the grouping of earlier texts.
 * 4. A verdict of a model merges whole groups and never splits one: a vote may already have stopped early because of
 *    the group in the lead. Texts of a later wave never part two that a verdict has joined.
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
  verdicts?: readonly PairVerdict[]
  /** The wave in which a text was contributed. */
  wave?: (index: number) => number
}

const DEFAULT_THRESHOLD = 0.75
/** Longer texts are only compared for equality: a recommendation is a sentence, and a hostile text must not cost seconds. */
const MAX_COMPARED_LENGTH = 4_000

/**
 * Groups equivalent recommendations: equal normalised texts, then pairs at or above `threshold` without a
 * contradiction. Every two members of a group are such a pair. All other pairs without a contradiction are unclear:
 * paraphrases such as "ship it" and "release it now" share neither words nor a reliable embedding. `verdicts` decide
 * unclear pairs.
 */
export function clusterTexts(texts: readonly string[], options: ClusterOptions = {}): Clusters {
  const statements = texts.map(parseStatement)
  const atoms = groupEqualTexts(statements, options.wave ?? (() => 0))
  const bonds = findBonds({ texts, statements, options }, atoms)
  const linked = linkCompletely(atoms.length, bonds)
  const groups = linked.map((members) =>
    members.flatMap((member) => atoms[member]?.members ?? []).sort((a, b) => a - b),
  )
  return {
    groups: groups.sort((a, b) => first(a) - first(b)),
    unclear: mergeablePairs(linked, bonds)
      .map(([a, b]) => orderedPair(first(atoms[a]?.members ?? []), first(atoms[b]?.members ?? [])))
      .sort(([a, b], [c, d]) => a - c || b - d),
  }
}

/** Unclear pairs whose groups a verdict can still merge: no member of one contradicts a member of the other. */
function mergeablePairs(groups: readonly (readonly number[])[], { links, unclear }: Bonds): [number, number][] {
  const possible = new Set([...links.map(({ a, b }) => [a, b] as const), ...unclear].map(pairKey))
  const groupWith = (atom: number) => groups.find((group) => group.includes(atom)) ?? []
  return unclear.filter(([a, b]) =>
    groupWith(a).every((left) => groupWith(b).every((right) => possible.has(pairKey([left, right])))),
  )
}

function pairKey([a, b]: readonly [number, number]): string {
  return orderedPair(a, b).join(' ')
}

/** Texts with the same normalised form. */
interface EqualTexts {
  members: number[]
  /** Members of the earliest wave. Only these are compared, so that later texts never change earlier groups. */
  representatives: number[]
  wave: number
}

function groupEqualTexts(statements: readonly ParsedStatement[], wave: (index: number) => number): EqualTexts[] {
  const byText = new Map<string, number[]>()
  statements.forEach(({ normalized }, index) => {
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
  /** Pairs of atoms. */
  unclear: [number, number][]
  /** Keys of pairs of atoms that contradict each other. */
  contradictions: Set<string>
}

interface ComparedTexts {
  texts: readonly string[]
  statements: readonly ParsedStatement[]
  options: ClusterOptions
}

function findBonds({ texts, statements, options }: ComparedTexts, atoms: readonly EqualTexts[]): Bonds {
  const verdicts = verdictsByPair(atoms, options.verdicts ?? [])
  const bonds: Bonds = { links: [], unclear: [], contradictions: new Set() }
  const statement = (index: number) =>
    (texts[index] ?? '').length > MAX_COMPARED_LENGTH ? undefined : statements[index]
  const stems = options.similarity
    ? []
    : atoms.map(({ representatives }) => contentStemSet(texts[first(representatives)] ?? ''))
  atoms.forEach((atomA, a) => {
    atoms.slice(a + 1).forEach((atomB, offset) => {
      const b = a + 1 + offset
      const similarity = options.similarity
        ? lowestSimilarity(options.similarity, atomA.representatives, atomB.representatives)
        : diceCoefficient(stems[a] ?? EMPTY_SET, stems[b] ?? EMPTY_SET)
      const pair = { texts, statement, options, similarity, verdict: verdicts.get(`${a} ${b}`) }
      const bond = bondBetween(pair, atomA.representatives, atomB.representatives)
      if (bond === 'unclear') bonds.unclear.push([a, b])
      else if (bond === 'contradiction') bonds.contradictions.add(pairKey([a, b]))
      else if (bond !== undefined) bonds.links.push({ a, b, wave: Math.max(atomA.wave, atomB.wave), ...bond })
    })
  })
  return bonds
}

interface PairContext {
  texts: readonly string[]
  statement: (index: number) => ParsedStatement | undefined
  options: ClusterOptions
  similarity: number
  verdict: boolean | undefined
}

/** The bond of two sets of equal texts; `undefined` when they differ. */
function bondBetween(
  { texts, statement, options, similarity, verdict }: PairContext,
  membersA: readonly number[],
  membersB: readonly number[],
): Bond | 'unclear' | 'contradiction' | undefined {
  const { similarity: embedded, threshold = DEFAULT_THRESHOLD } = options
  const pairs = membersA.flatMap((a) => membersB.map((b) => [texts[a] ?? '', texts[b] ?? ''] as const))
  if (membersA.some((a) => membersB.some((b) => differ(statement(a), statement(b))))) return 'contradiction'
  const isSimilar = embedded && similarity >= threshold && !pairs.some(([a, b]) => isEmbeddingUnreliable(a, b))
  if (isSimilar) return { source: 'similarity', strength: similarity }
  if (verdict === undefined) return 'unclear'
  return verdict ? { source: 'verdict', strength: similarity } : undefined
}

/** A blank text is no recommendation. */
function differ(a: ParsedStatement | undefined, b: ParsedStatement | undefined): boolean {
  return !a?.normalized || !b?.normalized || contradictionBetween(a, b) !== undefined
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
 * Complete linkage, wave by wave: merges two groups only when every pair of their members has a link. Within a wave similar
 * texts come first, then verdicts; the strongest first. A later text joins through the texts it is similar to, so that it
 * never parts two that a verdict has joined; if it contradicts one of those two, it stays apart.
 */
function linkCompletely(count: number, { links, contradictions }: Bonds): number[][] {
  const similar = new Groups(count)
  const joined = new Groups(count)
  const linkedPairs = { similarity: new Set<string>(), verdict: new Set<string>() }
  for (const { a, b, source } of links) linkedPairs[source].add(pairKey([a, b]))
  const isSimilar = (pair: AtomPair) => linkedPairs.similarity.has(pairKey(pair))
  const isLinked = (pair: AtomPair) => isSimilar(pair) || linkedPairs.verdict.has(pairKey(pair))
  for (const { a, b, source } of [...links].sort(compareLinks)) {
    const merges =
      source === 'similarity'
        ? similar.everyPair(a, b, isSimilar) && joined.everyPair(a, b, (pair) => !contradictions.has(pairKey(pair)))
        : joined.everyPair(a, b, isLinked)
    if (!merges) continue
    if (source === 'similarity') similar.merge(a, b)
    joined.merge(a, b)
  }
  return joined.all()
}

type AtomPair = readonly [number, number]

/** Disjoint groups of atoms. */
class Groups {
  readonly #byAtom: number[][]

  constructor(count: number) {
    this.#byAtom = Array.from({ length: count }, (_, atom) => [atom])
  }

  /** Whether the test holds for every pair across the groups of two atoms. */
  everyPair(a: number, b: number, test: (pair: AtomPair) => boolean): boolean {
    const [groupA, groupB] = [this.#byAtom[a] ?? [], this.#byAtom[b] ?? []]
    return groupA === groupB || groupA.every((left) => groupB.every((right) => test([left, right])))
  }

  merge(a: number, b: number): void {
    const [groupA, groupB] = [this.#byAtom[a] ?? [], this.#byAtom[b] ?? []]
    if (groupA === groupB) return
    const merged = [...groupA, ...groupB]
    for (const member of merged) this.#byAtom[member] = merged
  }

  all(): number[][] {
    return [...new Set(this.#byAtom)]
  }
}

function compareLinks(x: Link, y: Link): number {
  const bySource = Number(x.source === 'verdict') - Number(y.source === 'verdict')
  return x.wave - y.wave || bySource || y.strength - x.strength || x.a - y.a || x.b - y.b
}

function orderedPair(a: number, b: number): [number, number] {
  return a < b ? [a, b] : [b, a]
}

function first(members: readonly number[]): number {
  return members[0] ?? 0
}
