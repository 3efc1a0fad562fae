/** Responses to a loop, from the mildest on. */
export type LoopAction = 'continue' | 'nudge' | 'reroute' | 'answer_by_orchestrator' | 'escalate'

/**
 * The response to one more loop: first a nudge, then another specialist, then a person. `earlierLoops` counts those since the last
 * success or answer of a person; the first of them was the nudge, the others are confirmed.
 */
export function gradedResponse(earlierLoops: number, escalationAfterLoops: number): LoopAction {
  if (earlierLoops === 0) return 'nudge'
  return earlierLoops > escalationAfterLoops ? 'escalate' : 'reroute'
}
