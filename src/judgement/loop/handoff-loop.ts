import type { ParsedText } from './same-subject.ts'
import { differInSubject, hasOther, mayShare, parseText, sharedWords } from './same-subject.ts'

/*
 * Loop detection for handoffs.
 * 1. Progress is measured by results: a result is new when this agent has not produced it before, in the same or nearly the same words.
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
  result: HandoffResult
}

/** The result of a turn, made comparable by `handoffResult`. */
export interface HandoffResult {
  /** Artifacts and variables. */
  changes: string
  /** All of it: equal results have equal fingerprints. */
  fingerprint: string
  text: ParsedText
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
/** Earlier results of an agent that a new one is compared with word by word. */
const RESULTS_KEPT = 20
const SAME_TEXT = 0.8
/** In a text of a few words, one other word makes it another text. */
const MIN_WORDS = 5

interface LoopState {
  moves: Move[]
  edges: Map<string, number>
  /** Results by agent. */
  results: Map<string, AgentResults>
  /** The latest moves without a new result: their number, their agents, and how many of the last alternate. */
  idle: { moves: number; agents: Set<string>; alternating: number }
}

interface AgentResults {
  fingerprints: Set<string>
  latest: HandoffResult[]
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
  const results = state.results.get(move.from) ?? { fingerprints: new Set(), latest: [] }
  state.results.set(move.from, results)
  if (addResult(results, move.result)) {
    state.idle = { moves: 0, agents: new Set(), alternating: 0 }
    return
  }
  const returns = previous !== undefined && previous.from === move.to && previous.to === move.from
  state.idle.moves++
  state.idle.agents.add(move.from)
  state.idle.alternating = returns && move.from !== move.to ? state.idle.alternating + 1 : 1
}

/** Returns whether the result is new. */
function addResult({ fingerprints, latest }: AgentResults, result: HandoffResult): boolean {
  if (fingerprints.has(result.fingerprint)) return false
  fingerprints.add(result.fingerprint)
  const isNew = !latest.some((earlier) => isNearlySame(result, earlier))
  latest.push(result)
  if (latest.length > RESULTS_KEPT) latest.shift()
  return isNew
}

/** "The draft is ready, please review it" and "Please do review it, the draft is ready now" are; drafts of two chapters are not. */
function isNearlySame(result: HandoffResult, earlier: HandoffResult): boolean {
  const [text, other] = [result.text, earlier.text]
  if (result.changes !== earlier.changes || Math.min(text.words.size, other.words.size) < MIN_WORDS) return false
  if (hasOther(text.names, other.names) || !mayShare(text.words.size, other.words.size, SAME_TEXT)) return false
  return sharedWords(text.words, other.words) >= SAME_TEXT && !differInSubject(text, other)
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
 * The result of a turn for comparison with others. Exclude values that change by themselves (round numbers, loads): with them every
 * result is new and no loop is ever detected.
 */
export function handoffResult(result: {
  text: string
  /** Checksums by artifact name. */
  artifacts?: Readonly<Record<string, string>>
  variables?: Readonly<Record<string, unknown>>
}): HandoffResult {
  const changes = JSON.stringify([sortedEntries(result.artifacts), sortedEntries(result.variables)])
  return { changes, fingerprint: `${textFingerprint(result.text)}\u0000${changes}`, text: parseText(result.text) }
}

/** The words of a text, without case, blanks and punctuation. */
export function textFingerprint(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

function sortedEntries(entries: Readonly<Record<string, unknown>> = {}): [string, unknown][] {
  return Object.entries(entries).toSorted(([a], [b]) => (a < b ? -1 : 1))
}
