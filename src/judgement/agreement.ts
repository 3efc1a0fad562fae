import { contentOf, doubtful, guard, normalised, overlap } from './similarity.ts'

export type { Consensus, Voice } from './consensus.ts'
export { consensusOf } from './consensus.ts'
export { fleissKappa } from './kappa.ts'

/*
 * Invariants
 * 1. The order of the texts never changes who is with whom: everything is decided in the order of the normalised texts.
 * 2. What the guard forbids is never in one group, not even by way of a third text or of a model's word.
 */

export interface Clusters {
  groups: number[][]
  /** Pairs text cannot settle and a model might. */
  unclear: [number, number][]
}

/** A pair that was settled by somebody who read both texts. */
export interface Judged {
  a: number
  b: number
  same: boolean
}

export interface Known {
  similarity?: (a: number, b: number) => number
  threshold?: number
  margin?: number
  judged?: readonly Judged[]
}

const THRESHOLD = 0.75
const MARGIN = 0.15
/** Without an embedder: texts that share so many words are worth a question to a model, and nothing more. */
const WORTH_ASKING = 0.5
/** What was judged binds before anything that was measured: otherwise a later text could draw somebody away. */
const VERDICT = 2

/**
 * Groups equivalent recommendations: equal normalised text, then pairs at or over the threshold that pass the guard. Every
 * two members of a group are such a pair. Pairs between `threshold - margin` and `threshold` that pass the guard are
 * unclear, and so are those over it about which vectors say nothing. `judged` are pairs a model settled.
 */
export function clustered(texts: readonly string[], known: Known = {}): Clusters {
  const atoms = atomsOf(texts)
  const bonds = bondsOf(texts, atoms, known)
  const groups = linked(atoms.length, bonds.links).map((members) =>
    members.flatMap((member) => atoms[member] ?? []).sort((a, b) => a - b),
  )
  return {
    groups: groups.sort((a, b) => first(a) - first(b)),
    unclear: bonds.unclear.sort(([a, b], [c, d]) => a - c || b - d),
  }
}

/** What a grouping says about each pair, to be kept as `judged` when further texts join: nobody changes sides later. */
export function pairsOf(groups: readonly (readonly number[])[]): Judged[] {
  const side = groups.flatMap((members, group) => members.map((member) => ({ member, group })))
  return side.flatMap(({ member, group }, index) =>
    side.slice(index + 1).map((other) => ({ a: member, b: other.member, same: group === other.group })),
  )
}

/** Indexes with equal normalised text, in the order of those texts. */
function atomsOf(texts: readonly string[]): number[][] {
  const byText = new Map<string, number[]>()
  texts.forEach((text, index) => {
    const form = normalised(text)
    const members = byText.get(form)
    if (members) members.push(index)
    else byText.set(form, [index])
  })
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, members]) => members)
}

const NONE: ReadonlySet<string> = new Set()

interface Link {
  a: number
  b: number
  strength: number
}

interface Bonds {
  links: Link[]
  unclear: [number, number][]
}

function bondsOf(texts: readonly string[], atoms: readonly (readonly number[])[], known: Known): Bonds {
  const verdicts = verdictsOf(atoms, known.judged ?? [])
  const bonds: Bonds = { links: [], unclear: [] }
  const contents = known.similarity ? [] : atoms.map((members) => contentOf(texts[first(members)] ?? ''))
  atoms.forEach((mine, a) => {
    atoms.slice(a + 1).forEach((theirs, offset) => {
      const b = a + 1 + offset
      const alike = known.similarity
        ? weakest(known.similarity, mine, theirs)
        : overlap(contents[a] ?? NONE, contents[b] ?? NONE)
      const bond = bondOf({ texts, known, alike, verdict: verdicts.get(`${a} ${b}`) }, mine, theirs)
      if (bond === 'unclear') bonds.unclear.push(ordered(first(mine), first(theirs)))
      else if (bond !== undefined) bonds.links.push({ a, b, strength: bond })
    })
  })
  return bonds
}

interface Question {
  texts: readonly string[]
  known: Known
  alike: number
  verdict: boolean | undefined
}

/** How strongly two texts are bound, or that nobody knows; undefined when they are not. */
function bondOf(
  { texts, known, alike, verdict }: Question,
  mine: readonly number[],
  theirs: readonly number[],
): number | 'unclear' | undefined {
  if (verdict === false) return undefined
  const { similarity, threshold = THRESHOLD, margin = MARGIN } = known
  if (verdict === undefined && !(alike >= (similarity ? threshold - margin : WORTH_ASKING))) return undefined
  const pairs = mine.flatMap((a) => theirs.map((b) => [texts[a] ?? '', texts[b] ?? ''] as const))
  if (pairs.some(([a, b]) => guard(a, b) !== undefined)) return undefined
  if (verdict) return VERDICT
  if (!similarity || alike < threshold || pairs.some(([a, b]) => doubtful(a, b))) return 'unclear'
  return alike
}

function weakest(
  similarity: (a: number, b: number) => number,
  mine: readonly number[],
  theirs: readonly number[],
): number {
  return Math.min(...mine.flatMap((a) => theirs.map((b) => similarity(a, b))))
}

/** By pair of atoms. Two verdicts that contradict each other are a no. */
function verdictsOf(atoms: readonly (readonly number[])[], judged: readonly Judged[]): Map<string, boolean> {
  const atomOf = new Map(atoms.flatMap((members, atom) => members.map((member) => [member, atom] as const)))
  const verdicts = new Map<string, boolean>()
  for (const { a, b, same } of judged) {
    const [one, other] = [atomOf.get(a), atomOf.get(b)]
    if (one === undefined || other === undefined || one === other) continue
    const key = ordered(one, other).join(' ')
    verdicts.set(key, same && verdicts.get(key) !== false)
  }
  return verdicts
}

/** Joins what is bound most strongly first; two groups only when every member is bound to every other one. */
function linked(count: number, links: readonly Link[]): number[][] {
  const bound = new Set(links.flatMap(({ a, b }) => [`${a} ${b}`, `${b} ${a}`]))
  const groupOf = Array.from({ length: count }, (_, atom) => [atom])
  for (const { a, b } of [...links].sort((x, y) => y.strength - x.strength || x.a - y.a || x.b - y.b)) {
    const [one, other] = [groupOf[a] ?? [], groupOf[b] ?? []]
    if (one === other || !one.every((left) => other.every((right) => bound.has(`${left} ${right}`)))) continue
    const joined = [...one, ...other]
    for (const member of joined) groupOf[member] = joined
  }
  return [...new Set(groupOf)]
}

function ordered(a: number, b: number): [number, number] {
  return a < b ? [a, b] : [b, a]
}

function first(members: readonly number[]): number {
  return members[0] ?? 0
}
