/*
 * Work that goes round in circles.
 * 1. Progress is judged by results: a result is new when this agent has not brought it before.
 * 2. What a person says is always progress: every count starts again with it.
 * 3. A move costs the same however many came before it.
 */

export interface LoopLimits {
  /** Turns; a person's word begins the count again. */
  max_rounds: number
  max_repeats_per_edge: number
  /** Moves to and fro between two, nothing new among them. */
  ping_pong: number
}

export interface Move {
  from: string
  to: string
  /** Fingerprint of the result: artifacts' checksums, variables, normalised text. See `fingerprintOf`. */
  result: string
}

export type LoopVerdict =
  | { ok: true }
  | { ok: false; kind: 'max_rounds' | 'edge_repeats' | 'ping_pong' | 'stall'; message: string; moves: Move[] }

export interface LoopDetector {
  /** What the moves so far amount to, this one included. */
  add(move: Move): LoopVerdict
  /** A person had a say: counting starts again, as after a move from `user`. */
  reset(): void
}

const PERSON = 'user'
const MAX_REPORTED_MOVES = 10

interface LoopState {
  moves: Move[]
  edges: Map<string, number>
  seen: Map<string, Set<string>>
  /** How many moves in a row brought nothing new, whose they were, and how many of the last went to and fro. */
  idle: { moves: number; agents: Set<string>; alternating: number }
}

/** Follows moves one by one. */
export function createLoopDetector(limits: LoopLimits): LoopDetector {
  let count = emptyState()
  return {
    add(move) {
      if (move.from === PERSON) {
        count = emptyState()
        return { ok: true }
      }
      recordMove(count, move)
      return checkLimits(count, move, limits)
    },
    reset() {
      count = emptyState()
    },
  }
}

function emptyState(): LoopState {
  return { moves: [], edges: new Map(), seen: new Map(), idle: { moves: 0, agents: new Set(), alternating: 0 } }
}

function recordMove(count: LoopState, move: Move): void {
  const previous = count.moves.at(-1)
  count.moves.push(move)
  count.edges.set(edgeKey(move), (count.edges.get(edgeKey(move)) ?? 0) + 1)
  const seen = count.seen.get(move.from) ?? new Set()
  const isNew = !seen.has(move.result)
  count.seen.set(move.from, seen.add(move.result))
  if (isNew) {
    count.idle = { moves: 0, agents: new Set(), alternating: 0 }
    return
  }
  const back = previous !== undefined && previous.from === move.to && previous.to === move.from
  count.idle.moves++
  count.idle.agents.add(move.from)
  count.idle.alternating = back && move.from !== move.to ? count.idle.alternating + 1 : 1
}

function checkLimits({ moves, edges, idle }: LoopState, move: Move, limits: LoopLimits): LoopVerdict {
  if (idle.alternating >= limits.ping_pong && idle.agents.size > 1) {
    const message = `${move.from} and ${move.to} handed over ${idle.alternating} times to and fro without anything new`
    return { ok: false, kind: 'ping_pong', message, moves: moves.slice(-idle.alternating) }
  }
  // Everyone in the circle has repeated itself twice: a third time brings nothing either.
  if (idle.moves >= Math.max(limits.ping_pong, 2 * idle.agents.size)) {
    const message = `${idle.moves} moves in a row brought nothing new (${[...idle.agents].join(', ')})`
    return { ok: false, kind: 'stall', message, moves: moves.slice(-idle.moves) }
  }
  const repeats = edges.get(edgeKey(move)) ?? 0
  if (repeats > limits.max_repeats_per_edge) {
    const message = `${move.from} handed over to ${move.to} ${repeats} times; max_repeats_per_edge is ${limits.max_repeats_per_edge}`
    return { ok: false, kind: 'edge_repeats', message, moves: moves.filter((each) => edgeKey(each) === edgeKey(move)) }
  }
  // Each move followed a turn, and leads to one more.
  if (moves.length < limits.max_rounds) return { ok: true }
  const message = `${moves.length} turns; max_rounds is ${limits.max_rounds}`
  return { ok: false, kind: 'max_rounds', message, moves: moves.slice(-MAX_REPORTED_MOVES) }
}

function edgeKey({ from, to }: Move): string {
  return `${from}\u0000${to}`
}

/**
 * What a turn brought, for comparison with what came before. Leave out what changes by itself (a round's number, a
 * load): with it every result is new and no loop is ever seen.
 */
export function resultFingerprint(result: {
  text: string
  /** Checksums by artifact name. */
  artifacts?: Readonly<Record<string, string>>
  variables?: Readonly<Record<string, unknown>>
}): string {
  const text = result.text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
  return JSON.stringify([text, sortedEntries(result.artifacts), sortedEntries(result.variables)])
}

function sortedEntries(entries: Readonly<Record<string, unknown>> = {}): [string, unknown][] {
  return Object.entries(entries).toSorted(([a], [b]) => (a < b ? -1 : 1))
}
