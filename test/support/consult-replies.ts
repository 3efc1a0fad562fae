import type { ModelRequest } from '../../src/kernel/model.ts'
import type { ModelReply } from './test-troupe.ts'
import { lastMessageText } from './test-troupe.ts'

export type Reply = ModelReply | ((request: ModelRequest) => ModelReply | Promise<ModelReply>)

/** The orchestrator's decision. */
export function routeTo(...agents: string[]): ModelReply {
  return {
    text: JSON.stringify({ needed: 'x', agents, reason: 'data question', rationale: 'It knows.', confidence: 0.9 }),
  }
}

/** A call of `consult`. */
export function consultCall(question: string, more: Record<string, unknown> = {}) {
  return { name: 'consult', input: { question, ...more } }
}

/** An answer of a specialist. */
export function answerJson(answer: string, more: Record<string, unknown> = {}): ModelReply {
  return { text: JSON.stringify({ answer, confidence: 0.9, ...more }) }
}

/** An asker that makes these calls, one turn each, and answers with the last result. */
export function asker(...turns: ((request: ModelRequest) => { name: string; input: unknown }[])[]): Reply {
  return (request) => {
    const turn = turns[request.session.turn - 1]
    return turn ? { calls: turn(request) } : { text: lastMessageText(request) }
  }
}
