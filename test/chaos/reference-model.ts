import type { Message, Model, ModelChunk, ModelRequest, ToolResultPart, Usage } from '../../src/kernel/model.ts'
import { textOf } from '../../src/kernel/model.ts'
import type { Scene } from './reference.ts'

/*
 * The model of the reference run. What it says follows from the request alone: the agent, its last instruction, and how
 * often it has spoken since.
 */

export interface Call {
  name: string
  input: Record<string, unknown>
}

type Part = (results: readonly ToolResultPart[], all: readonly ToolResultPart[]) => Call[]

const task = (agent: string, instruction: string, more = {}): Call => ({
  name: 'task',
  input: { agent, instruction, ...more },
})
const act = (name: string, input: Record<string, unknown>): Call => ({ name, input })

/** What each agent calls, by its instruction: one entry for each turn before its last words. */
const PARTS: Record<string, Part[]> = {
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
      { name: 'task', input: { session_id: sessionOf(all, 'alpha'), instruction: 'again' } },
      act('boom', {}),
      act('put', { name: 'lead' }),
    ],
    () => [act('ask_user', { question: 'Go on?', choices: ['yes', 'no'] }), act('ship', { item: 'lead' })],
    (_, all) => [act('task_result', { session_id: sessionOf(all, 'gamma') }), act('ship', { item: 'last' })],
    (_, all) => [{ name: 'task', input: { session_id: sessionOf(all, 'gamma'), instruction: 'again' } }],
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
export type Answers = (request: ModelRequest) => { calls: Call[]; text?: string }

export function referenceModel(scene: Scene, answers: Answers = answerTo): Model {
  return { name: 'reference', stream: (request) => speak(scene, request, answers) }
}

async function* speak(scene: Scene, request: ModelRequest, answers: Answers): AsyncGenerator<ModelChunk> {
  scene.inside.add(request.key)
  await scene.at('model:before')
  const usage = usageOf(request)
  scene.outside.called(request.key, usage)
  await scene.delay('model')
  const { calls, text } = answers(request)
  if (text !== undefined) {
    yield { type: 'text', text: text.slice(0, 3) }
    await scene.at('model:mid')
    yield { type: 'text', text: text.slice(3) }
  }
  for (const [index, { name, input }] of calls.entries()) {
    yield { type: 'tool-call', id: `c${request.session.turn}_${index}`, name, input }
    if (index === 0) await scene.at('model:mid')
  }
  await scene.at('model:after')
  scene.inside.delete(request.key)
  yield { type: 'finish', stop: text === undefined ? 'tool_calls' : 'end', usage }
}

function answerTo({ messages, session }: ModelRequest): { calls: Call[]; text?: string } {
  const from = messages.findLastIndex((message) => message.role === 'user')
  const spoken = messages.slice(from).filter((message) => message.role === 'assistant').length
  const parts = PARTS[`${session.agent} ${textOf(messages[from])}`]
  if (!parts) throw new Error(`nothing planned for ${session.agent}: ${textOf(messages[from])}`)
  const since = resultsIn(messages.slice(from))
  const part = parts[spoken]
  if (part) return { calls: part(since, resultsIn(messages)) }
  return { calls: [], text: `[${session.agent}: ${since.map(inWords).join(', ')}]` }
}

export function resultsIn(messages: readonly Message[]): ToolResultPart[] {
  return messages.flatMap((message) => (message.role === 'tool' ? message.content : []))
}

/** What a result says, without what may differ from run to run. */
export function inWords({ name, text, is_error }: ToolResultPart): string {
  if (is_error) return `${name} ${/^Error \((\w+)\)/.exec(text)?.[1]?.replace('outcome_', '') ?? text}`
  if (!name.startsWith('task')) return name === 'ask_user' ? `answer ${text}` : text
  const { response, status } = JSON.parse(text) as { response?: string; status: string }
  return response ?? status
}

function sessionOf(results: readonly ToolResultPart[], agent: string): string {
  for (const { name, text, is_error } of results) {
    if (is_error || name !== 'task') continue
    const output = JSON.parse(text) as { agent: string; session_id: string }
    if (output.agent === agent) return output.session_id
  }
  throw new Error(`no session of ${agent} yet`)
}

function usageOf({ messages }: ModelRequest): Usage {
  return { input: 10 + messages.length, output: 5, cache_read: 1, cache_write: 2, reasoning: 3 }
}
