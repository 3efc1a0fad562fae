import type { Message, Model, ModelChunk, ModelRequest, ToolResultPart, Usage } from '../../src/kernel/model.ts'
import { textFrom } from '../../src/kernel/model.ts'
import type { FaultHooks } from './reference-run.ts'

/*
 * Model of the reference run. Its response depends only on the request: the agent, its last instruction, and the number of
 * responses since.
 */

export interface PlannedCall {
  name: string
  input: Record<string, unknown>
}

type PlannedTurn = (results: readonly ToolResultPart[], all: readonly ToolResultPart[]) => PlannedCall[]

const task = (agent: string, instruction: string, more = {}): PlannedCall => ({
  name: 'task',
  input: { agent, instruction, ...more },
})
const act = (name: string, input: Record<string, unknown>): PlannedCall => ({ name, input })

/** Tool calls by agent and instruction, one entry per turn before the final text. */
const PLANNED_TURNS: Record<string, PlannedTurn[]> = {
  'lead begin': [
    () => [
      task('alpha', 'first'),
      task('beta', 'second'),
      task('gamma', 'third', { background: true }),
      act('look', { topic: 'sky' }),
      act('charge', { amount: 'ten' }),
    ],
    (_, all) => [
      act('charge', { amount: 10 }),
      { name: 'task', input: { session_id: findSessionId(all, 'alpha'), instruction: 'again' } },
      act('boom', {}),
      act('put', { name: 'lead' }),
    ],
    () => [act('ask_user', { question: 'Continue?', choices: ['yes', 'no'] }), act('ship', { item: 'lead' })],
    (_, all) => [act('task_result', { session_id: findSessionId(all, 'gamma') }), act('ship', { item: 'last' })],
    (_, all) => [{ name: 'task', input: { session_id: findSessionId(all, 'gamma'), instruction: 'again' } }],
  ],
  'alpha first': [() => [task('leaf', 'x'), task('leaf', 'y'), act('ship', { item: 'alpha' })]],
  'alpha again': [() => [act('charge', { amount: 20 }), act('look', { topic: 'sea' })]],
  'beta second': [
    () => [act('charge', { amount: 30 }), act('ship', { item: 'beta' })],
    () => [act('put', { name: 'b' })],
  ],
  'gamma third': [() => [act('ship', { item: 'gamma' })], () => [act('charge', { amount: 40 })]],
  'gamma again': [() => [act('ship', { item: 'gamma2' }), act('charge', { amount: 50 })]],
  'leaf x': [() => [act('put', { name: 'x' }), act('charge', { amount: 60 })]],
  'leaf y': [() => [act('ship', { item: 'y' })]],
}

/** Computes the response of a model from the request alone. */
export type Respond = (request: ModelRequest) => { calls: PlannedCall[]; text?: string }

export function referenceModel(hooks: FaultHooks, respond: Respond = referenceResponse): Model {
  return { name: 'reference', stream: (request) => streamResponse(hooks, request, respond) }
}

async function* streamResponse(hooks: FaultHooks, request: ModelRequest, respond: Respond): AsyncGenerator<ModelChunk> {
  hooks.active_calls.add(request.key)
  await hooks.passBoundary('model:before')
  const usage = usageFor(request)
  hooks.external.recordCall(request.key, usage)
  await hooks.delay('model')
  const { calls, text } = respond(request)
  if (text !== undefined) {
    yield { type: 'text', text: text.slice(0, 3) }
    await hooks.passBoundary('model:mid')
    yield { type: 'text', text: text.slice(3) }
  }
  for (const [index, { name, input }] of calls.entries()) {
    yield { type: 'tool-call', id: `c${request.session.turn}_${index}`, name, input }
    if (index === 0) await hooks.passBoundary('model:mid')
  }
  await hooks.passBoundary('model:after')
  hooks.active_calls.delete(request.key)
  yield { type: 'finish', stop: text === undefined ? 'tool_calls' : 'end', usage }
}

function referenceResponse({ messages, session }: ModelRequest): { calls: PlannedCall[]; text?: string } {
  const start = messages.findLastIndex((message) => message.role === 'user')
  const turnsTaken = messages.slice(start).filter((message) => message.role === 'assistant').length
  const turns = PLANNED_TURNS[`${session.agent} ${textFrom(messages[start])}`]
  if (!turns) throw new Error(`no planned turns for ${session.agent}: ${textFrom(messages[start])}`)
  const recent = toolResultsFrom(messages.slice(start))
  const turn = turns[turnsTaken]
  if (turn) return { calls: turn(recent, toolResultsFrom(messages)) }
  return { calls: [], text: `[${session.agent}: ${recent.map(formatResult).join(', ')}]` }
}

export function toolResultsFrom(messages: readonly Message[]): ToolResultPart[] {
  return messages.flatMap((message) => (message.role === 'tool' ? message.content : []))
}

/** Text of a tool result without values that differ between runs. */
export function formatResult({ name, text, is_error }: ToolResultPart): string {
  if (is_error) return `${name} ${/^Error \((\w+)\)/.exec(text)?.[1]?.replace('outcome_', '') ?? text}`
  if (!name.startsWith('task')) return name === 'ask_user' ? `answer ${text}` : text
  const { response, status } = JSON.parse(text) as { response?: string; status: string }
  return response ?? status
}

function findSessionId(results: readonly ToolResultPart[], agent: string): string {
  for (const { name, text, is_error } of results) {
    if (is_error || name !== 'task') continue
    const output = JSON.parse(text) as { agent: string; session_id: string }
    if (output.agent === agent) return output.session_id
  }
  throw new Error(`no session of ${agent}`)
}

function usageFor({ messages }: ModelRequest): Usage {
  return { input: 10 + messages.length, output: 5, cache_read: 1, cache_write: 2, reasoning: 3 }
}
