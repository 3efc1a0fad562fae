/*
 * Loop detection for handoffs.
 * 1. Progress is measured by results: a result is new when this agent has not produced it before.
 * 2. A person's message is always progress and resets every count.
 * 3. Each move takes constant time, however many came before it.
 */

export interface LoopLimits {
  /** Turns since the person's last message. */
  max_rounds: number
  max_repeats_per_edge: number
  /** Moves back and forth between two agents without a new result. */
  ping_pong: number
}

export interface Move {
  from: string
  to: string
  /** Fingerprint of the result; see `resultFingerprint`. */
  result: string
}

export type LoopVerdict =
  | { ok: true }
  | { ok: false; kind: 'max_rounds' | 'edge_repeats' | 'ping_pong' | 'stall'; message: string; moves: Move[] }

export interface LoopDetector {
  /** Adds a move and checks all moves so far. */
  add(move: Move): LoopVerdict
  /** Resets all counts, as a move from `user` does. */
  reset(): void
}

const PERSON = 'user'
const MAX_REPORTED_MOVES = 10
/** Moves of a loop that are reported: without a bound, each move of a long trace would copy all before it. */
const MAX_REPEATED_MOVES = 100

interface LoopState {
  moves: Move[]
  edges: Map<string, number>
  /** Results by agent. */
  results: Map<string, Set<string>>
  /** The latest moves without a new result: their number, their agents, and how many of the last alternate. */
  idle: { moves: number; agents: Set<string>; alternating: number }
}

export function createLoopDetector(limits: LoopLimits): LoopDetector {
  let state = emptyState()
  return {
    add(move) {
      if (move.from === PERSON) {
        state = emptyState()
        return { ok: true }
      }
      recordMove(state, move)
      return checkLimits(state, move, limits)
    },
    reset() {
      state = emptyState()
    },
  }
}

function emptyState(): LoopState {
  return { moves: [], edges: new Map(), results: new Map(), idle: { moves: 0, agents: new Set(), alternating: 0 } }
}

function recordMove(state: LoopState, move: Move): void {
  const previous = state.moves.at(-1)
  state.moves.push(move)
  state.edges.set(edgeKey(move), (state.edges.get(edgeKey(move)) ?? 0) + 1)
  const results = state.results.get(move.from) ?? new Set()
  const isNew = !results.has(move.result)
  state.results.set(move.from, results.add(move.result))
  if (isNew) {
    state.idle = { moves: 0, agents: new Set(), alternating: 0 }
    return
  }
  const returns = previous !== undefined && previous.from === move.to && previous.to === move.from
  state.idle.moves++
  state.idle.agents.add(move.from)
  state.idle.alternating = returns && move.from !== move.to ? state.idle.alternating + 1 : 1
}

function checkLimits({ moves, edges, idle }: LoopState, move: Move, limits: LoopLimits): LoopVerdict {
  if (idle.alternating >= limits.ping_pong && idle.agents.size > 1) {
    const message = `${move.from} and ${move.to} handed off back and forth ${idle.alternating} times without a new result`
    return {
      ok: false,
      kind: 'ping_pong',
      message,
      moves: moves.slice(-Math.min(idle.alternating, MAX_REPEATED_MOVES)),
    }
  }
  // Every agent in the cycle has repeated its result twice.
  if (idle.moves >= Math.max(limits.ping_pong, 2 * idle.agents.size)) {
    const message = `${idle.moves} moves in a row without a new result (${[...idle.agents].join(', ')})`
    return { ok: false, kind: 'stall', message, moves: moves.slice(-Math.min(idle.moves, MAX_REPEATED_MOVES)) }
  }
  const repeats = edges.get(edgeKey(move)) ?? 0
  if (repeats > limits.max_repeats_per_edge) {
    const message = `${move.from} handed off to ${move.to} ${repeats} times; max_repeats_per_edge is ${limits.max_repeats_per_edge}`
    const sameEdge = moves.filter((earlier) => edgeKey(earlier) === edgeKey(move))
    return { ok: false, kind: 'edge_repeats', message, moves: sameEdge }
  }
  // Each move follows a turn and leads to one more.
  if (moves.length < limits.max_rounds) return { ok: true }
  const message = `${moves.length} turns; max_rounds is ${limits.max_rounds}`
  return { ok: false, kind: 'max_rounds', message, moves: moves.slice(-MAX_REPORTED_MOVES) }
}

function edgeKey({ from, to }: Move): string {
  return `${from}\u0000${to}`
}

/**
 * Fingerprint of the result of a turn. Exclude values that change by themselves (round numbers, loads): with them every
 * result is new and no loop is ever detected.
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
