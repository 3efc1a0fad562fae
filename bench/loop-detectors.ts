import { createLoopDetector, handoffResult } from '../src/judgement/loop/handoff-loop.ts'
import type { ParsedExchange } from '../src/judgement/loop/new-information.ts'
import { findSameAnswer, parseExchange } from '../src/judgement/loop/new-information.ts'
import type { TraceMessage } from './read-trace.ts'

/* The detection that works inside runs, applied to recorded conversations. */

/** Indexes of the messages at which agents pass known results back and forth, as in a team. */
export function findHandoffLoops(messages: readonly TraceMessage[]): number[] {
  const detector = createLoopDetector({ max_rounds: Infinity, max_repeats_per_edge: Infinity, ping_pong: 4 })
  return messages.flatMap(({ agent, isPerson, text }, index) => {
    if (isPerson) detector.reset()
    const next = messages[index + 1]
    if (isPerson || next === undefined || next.agent === agent) return []
    return detector.add({ from: agent, to: next.agent, result: handoffResult({ text }) }).ok ? [] : [index]
  })
}

/** An instruction to an agent, and the results that arrived since the instruction before it. */
export interface OrchestratorDecision {
  instruction: string
  results: readonly string[]
}

/** The decisions before which an instruction brought an answer that was known, as in consultations and delegations. */
export function findKnownAnswers(decisions: readonly OrchestratorDecision[]): boolean[] {
  const exchanges: ParsedExchange[] = []
  return decisions.map(({ results }, index) => {
    const question = decisions[index - 1]?.instruction
    if (question === undefined) return false
    const exchange = parseExchange({ question, answer: results.join('\n') })
    const isKnown = findSameAnswer(exchange, exchanges) !== undefined
    exchanges.push(exchange)
    return isKnown
  })
}
