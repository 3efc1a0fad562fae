import { interruptIdOf, questionData } from '../routes/question-hash.ts'
import type { ModelTokens, RunAgent, RunMessage, RunQuestion } from './run-message.ts'

/* The messages of a run as events of the AG-UI protocol 1.0 (https://docs.ag-ui.com). */

export interface AgUiEvent {
  type: string
  [field: string]: unknown
}

type MessageOf<Kind extends RunMessage['kind']> = Extract<RunMessage, { kind: Kind }>

const PROTOCOL_VERSION = '1.0'

/** The ids that the client chose for this request. */
export interface AgUiIds {
  threadId: string
  runId: string
}

export function agUiEvents(message: RunMessage, ids: AgUiIds): AgUiEvent[] {
  switch (message.kind) {
    case 'start':
      return [{ type: 'RUN_STARTED', ...ids, protocolVersion: PROTOCOL_VERSION, metadata: { run_id: message.run_id } }]
    case 'agent_start':
      return message.agent.isMain ? [] : [subagentStarted(message.agent)]
    case 'agent_end':
      return message.agent.isMain ? [] : [subagentEnded(message)]
    case 'turn_start':
      return []
    case 'part_start':
    case 'part_delta':
    case 'part_end':
      return partEvents(message)
    case 'call':
      return callEvents(message)
    case 'result':
      return [resultEvent(message)]
    case 'question':
      return [custom('troupe.question', questionData(message.question), message.question.agent)]
    case 'answer': {
      const { gate_id, answer, by } = message
      return [custom('troupe.answer', { gate_id, answer, by }, undefined)]
    }
    case 'artifact':
      return [custom('troupe.artifact', { name: message.name, version: message.version }, undefined)]
    case 'event':
      return [custom(message.event.type, message.event.data, message.agent)]
    case 'output':
      return textEvents(message.id, message.text)
    case 'end':
      return endEvents(message, ids)
  }
}

function attribution(agent: RunAgent | undefined): { subagentRunId?: string } {
  return agent && !agent.isMain ? { subagentRunId: agent.id } : {}
}

function subagentStarted({ id, name, description, parent, call }: RunAgent): AgUiEvent {
  return {
    type: 'SUBAGENT_STARTED',
    subagentRunId: id,
    name,
    ...(description === '' ? {} : { description }),
    ...(parent ? { parentSubagentRunId: parent.id } : {}),
    ...(call === undefined ? {} : { parentToolCallId: call }),
  }
}

function subagentEnded({ agent, status, text, error }: MessageOf<'agent_end'>): AgUiEvent {
  if (status === 'completed') return { type: 'SUBAGENT_FINISHED', subagentRunId: agent.id, result: text }
  const message = error?.message ?? `the agent ${agent.name} was ${status}`
  return { type: 'SUBAGENT_ERROR', subagentRunId: agent.id, message, code: error?.code ?? status }
}

function partEvents(message: MessageOf<'part_start' | 'part_delta' | 'part_end'>): AgUiEvent[] {
  const { id, type, agent } = message
  const base = { messageId: id, ...attribution(agent) }
  if (type === 'text') {
    if (message.kind === 'part_start')
      return [{ type: 'TEXT_MESSAGE_START', ...base, role: 'assistant', name: agent.name }]
    if (message.kind === 'part_delta') return [{ type: 'TEXT_MESSAGE_CONTENT', ...base, delta: message.text }]
    return [{ type: 'TEXT_MESSAGE_END', ...base }]
  }
  if (message.kind === 'part_start') {
    return [
      { type: 'REASONING_START', ...base },
      { type: 'REASONING_MESSAGE_START', ...base, role: 'reasoning' },
    ]
  }
  if (message.kind === 'part_delta') return [{ type: 'REASONING_MESSAGE_CONTENT', ...base, delta: message.text }]
  return [
    { type: 'REASONING_MESSAGE_END', ...base },
    { type: 'REASONING_END', ...base },
  ]
}

function textEvents(messageId: string, text: string): AgUiEvent[] {
  return [
    { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: text },
    { type: 'TEXT_MESSAGE_END', messageId },
  ]
}

function callEvents({ id, tool, input, agent }: MessageOf<'call'>): AgUiEvent[] {
  const base = { toolCallId: id, ...attribution(agent) }
  return [
    { type: 'TOOL_CALL_START', ...base, toolCallName: tool },
    { type: 'TOOL_CALL_ARGS', ...base, delta: JSON.stringify(input ?? {}) },
    { type: 'TOOL_CALL_END', ...base },
  ]
}

function resultEvent({ call, output, error, agent }: MessageOf<'result'>): AgUiEvent {
  const content = error ? error.message : textOf(output)
  return {
    type: 'TOOL_CALL_RESULT',
    messageId: `${call}/result`,
    toolCallId: call,
    content,
    role: 'tool',
    ...attribution(agent),
    ...(error ? { metadata: { error: error.code } } : {}),
  }
}

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : (JSON.stringify(output) ?? '')
}

function custom(name: string, value: unknown, agent: RunAgent | undefined): AgUiEvent {
  return { type: 'CUSTOM', name, value, ...attribution(agent) }
}

function endEvents({ run_id, outcome, tokens, open }: MessageOf<'end'>, ids: AgUiIds): AgUiEvent[] {
  const usage = tokens.map(toTokenUsage)
  const finished = { type: 'RUN_FINISHED', ...ids, usage, metadata: { run_id } }
  const subagents = open.filter(({ isMain }) => !isMain).toReversed()
  const failed = (reason: string) => subagents.map((agent) => subagentEnded({ ...ended(agent), status: reason }))
  switch (outcome.status) {
    case 'completed':
      return [...failed('cancelled'), { ...finished, result: outcome.output, outcome: { type: 'success' } }]
    case 'cancelled':
      return [...failed('cancelled'), { ...finished, outcome: { type: 'cancelled' } }]
    case 'failed': {
      const { code, message } = outcome.error
      return [...failed('failed'), { type: 'RUN_ERROR', message, code, usage, metadata: { run_id } }]
    }
    case 'interrupted': {
      const message = 'the run was interrupted; it goes on when a process of the project executes it'
      return [
        ...failed('interrupted'),
        { type: 'RUN_ERROR', message, code: 'interrupted', usage, metadata: { run_id } },
      ]
    }
    case 'waiting': {
      const suspended = { type: 'suspended', interruptIds: outcome.questions.map(interruptIdOf) }
      return [
        ...subagents.map(({ id }) => ({ type: 'SUBAGENT_FINISHED', subagentRunId: id, outcome: suspended })),
        { ...finished, outcome: { type: 'interrupt', interrupts: outcome.questions.map(toInterrupt) } },
      ]
    }
  }
}

function ended(agent: RunAgent): MessageOf<'agent_end'> {
  return { kind: 'agent_end', agent, status: 'cancelled', text: '', error: null }
}

function toInterrupt(question: RunQuestion): Record<string, unknown> {
  const { choices, call, agent } = question
  return {
    id: interruptIdOf(question),
    reason: call === undefined ? 'question' : 'tool_call',
    message: question.question,
    ...(call === undefined ? {} : { toolCallId: call }),
    ...(choices ? { responseSchema: { type: 'string', enum: choices } } : {}),
    ...attribution(agent),
    metadata: questionData(question),
  }
}

function toTokenUsage({ model, input, output, reasoning, cache_read, cache_write }: ModelTokens) {
  return {
    model,
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output,
    reasoningTokens: reasoning,
    cachedInputTokens: cache_read,
    cacheWriteInputTokens: cache_write,
  }
}
