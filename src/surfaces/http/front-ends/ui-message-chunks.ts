import { questionData, questionHash } from '../routes/question-hash.ts'
import type { RunAgent, RunMessage, RunQuestion } from './run-message.ts'

/* The messages of a run as chunks of one UI message of the AI SDK (UI message stream protocol v1). */

export interface UiMessageChunk {
  type: string
  [field: string]: unknown
}

type MessageOf<Kind extends RunMessage['kind']> = Extract<RunMessage, { kind: Kind }>

/** The chunks have one message, whose steps are the turns of the main agent; other agents are data parts. */
export class UiMessageChunks {
  readonly #questions = new Map<string, RunQuestion>()
  #isStepOpen = false

  add(message: RunMessage): UiMessageChunk[] {
    switch (message.kind) {
      case 'start': {
        const { run_id } = message
        return [{ type: 'start', messageId: run_id, messageMetadata: { run_id } }]
      }
      case 'agent_start':
        return message.agent.isMain ? [] : [agentPart(message.agent, { status: 'running' })]
      case 'agent_end': {
        const { agent, status, text, error } = message
        return agent.isMain ? [] : [agentPart(agent, { status, text, error: error?.message ?? null })]
      }
      case 'turn_start':
        return message.agent.isMain ? this.#nextStep() : []
      case 'part_start':
      case 'part_delta':
      case 'part_end':
        return message.agent.isMain ? [partChunk(message)] : []
      case 'call':
        return [callChunk(message)]
      case 'result':
        return [resultChunk(message)]
      case 'question':
        this.#questions.set(message.question.gate_id, message.question)
        return [questionPart(message.question, { status: 'open' })]
      case 'answer':
        return this.#answerPart(message)
      case 'artifact': {
        const { name, version } = message
        return [{ type: 'data-artifact', id: name, data: { name, version } }]
      }
      case 'event': {
        const { type, data, seq } = message.event
        // For `onData` only: such events would fill the message.
        return [{ type: 'data-event', transient: true, data: { type, seq, data, agent: message.agent?.name ?? null } }]
      }
      case 'output':
        return [
          { type: 'text-start', id: message.id },
          { type: 'text-delta', id: message.id, delta: message.text },
          { type: 'text-end', id: message.id },
        ]
      case 'end':
        return this.#end(message)
    }
  }

  #nextStep(): UiMessageChunk[] {
    const chunks = this.#isStepOpen ? [{ type: 'finish-step' }, { type: 'start-step' }] : [{ type: 'start-step' }]
    this.#isStepOpen = true
    return chunks
  }

  #answerPart({ gate_id, answer, by }: MessageOf<'answer'>): UiMessageChunk[] {
    const question = this.#questions.get(gate_id)
    return question ? [questionPart(question, { status: 'answered', answer, answered_by: by })] : []
  }

  #end({ run_id, outcome, tokens }: MessageOf<'end'>): UiMessageChunk[] {
    const step = this.#isStepOpen ? [{ type: 'finish-step' }] : []
    this.#isStepOpen = false
    const messageMetadata = { run_id, status: outcome.status, usage: tokens }
    const finish = (finishReason: string) => ({ type: 'finish', finishReason, messageMetadata })
    switch (outcome.status) {
      case 'completed':
        return [...step, finish('stop')]
      case 'failed':
        return [...step, { type: 'error', errorText: outcome.error.message }, finish('error')]
      case 'cancelled':
        return [...step, { type: 'message-metadata', messageMetadata }, { type: 'abort', reason: outcome.reason }]
      default:
        return [...step, finish('other')]
    }
  }
}

function agentPart(agent: RunAgent, state: Record<string, unknown>): UiMessageChunk {
  const data = { agent: agent.name, parent: agent.parent?.id ?? null, call: agent.call ?? null, ...state }
  return { type: 'data-agent', id: agent.id, data }
}

function questionPart(question: RunQuestion, state: Record<string, unknown>): UiMessageChunk {
  const { gate_id, call } = question
  const data = { ...questionData(question), call: call ?? null, hash: questionHash(question), ...state }
  return { type: 'data-gate', id: gate_id, data }
}

function partChunk(message: MessageOf<'part_start' | 'part_delta' | 'part_end'>): UiMessageChunk {
  const { type, id } = message
  if (message.kind === 'part_delta') return { type: `${type}-delta`, id, delta: message.text }
  return { type: message.kind === 'part_start' ? `${type}-start` : `${type}-end`, id }
}

/** `providerExecuted`: the client must not try to execute it. */
const SERVER_CALL = { dynamic: true, providerExecuted: true }

function callChunk({ id, tool, input, agent }: MessageOf<'call'>): UiMessageChunk {
  const toolMetadata = { agent: agent.name, session: agent.id }
  return {
    type: 'tool-input-available',
    toolCallId: id,
    toolName: tool,
    input: input ?? {},
    toolMetadata,
    ...SERVER_CALL,
  }
}

function resultChunk({ call, output, error }: MessageOf<'result'>): UiMessageChunk {
  if (error) return { type: 'tool-output-error', toolCallId: call, errorText: error.message, ...SERVER_CALL }
  return { type: 'tool-output-available', toolCallId: call, output: output ?? null, ...SERVER_CALL }
}
