import type { Message, Model, ModelChunk, ModelRequest, ToolResultPart, Usage } from '../../src/kernel/model.ts'
import { textFrom } from '../../src/kernel/model.ts'
import type { FaultHooks } from './reference-run.ts'

/*
 * The model of the reference run. What it says follows from the request alone: the agent, its last instruction, and how
 * often it has spoken since.
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

/** What each agent calls, by its instruction: one entry for each turn before its last words. */
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
    () => [act('ask_user', { question: 'Go on?', choices: ['yes', 'no'] }), act('ship', { item: 'lead' })],
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

/** What a model says to a request, which says all. */
export type Respond = (request: ModelRequest) => { calls: PlannedCall[]; text?: string }

export function referenceModel(scene: FaultHooks, answers: Respond = referenceResponse): Model {
  return { name: 'reference', stream: (request) => streamResponse(scene, request, answers) }
}

async function* streamResponse(scene: FaultHooks, request: ModelRequest, answers: Respond): AsyncGenerator<ModelChunk> {
  scene.active_calls.add(request.key)
  await scene.passBoundary('model:before')
  const usage = usageFor(request)
  scene.external.recordCall(request.key, usage)
  await scene.delay('model')
  const { calls, text } = answers(request)
  if (text !== undefined) {
    yield { type: 'text', text: text.slice(0, 3) }
    await scene.passBoundary('model:mid')
    yield { type: 'text', text: text.slice(3) }
  }
  for (const [index, { name, input }] of calls.entries()) {
    yield { type: 'tool-call', id: `c${request.session.turn}_${index}`, name, input }
    if (index === 0) await scene.passBoundary('model:mid')
  }
  await scene.passBoundary('model:after')
  scene.active_calls.delete(request.key)
  yield { type: 'finish', stop: text === undefined ? 'tool_calls' : 'end', usage }
}

function referenceResponse({ messages, session }: ModelRequest): { calls: PlannedCall[]; text?: string } {
  const from = messages.findLastIndex((message) => message.role === 'user')
  const spoken = messages.slice(from).filter((message) => message.role === 'assistant').length
  const parts = PLANNED_TURNS[`${session.agent} ${textFrom(messages[from])}`]
  if (!parts) throw new Error(`nothing planned for ${session.agent}: ${textFrom(messages[from])}`)
  const since = toolResultsFrom(messages.slice(from))
  const part = parts[spoken]
  if (part) return { calls: part(since, toolResultsFrom(messages)) }
  return { calls: [], text: `[${session.agent}: ${since.map(formatResult).join(', ')}]` }
}

export function toolResultsFrom(messages: readonly Message[]): ToolResultPart[] {
  return messages.flatMap((message) => (message.role === 'tool' ? message.content : []))
}

/** What a result says, without what may differ from run to run. */
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
  throw new Error(`no session of ${agent} yet`)
}

function usageFor({ messages }: ModelRequest): Usage {
  return { input: 10 + messages.length, output: 5, cache_read: 1, cache_write: 2, reasoning: 3 }
}
