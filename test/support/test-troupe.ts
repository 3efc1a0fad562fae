import type { Model, ModelChunk, ModelRequest } from '../../src/entries/models.ts'
import type { Agent, RunOptions, RunResult, Schema, Store, Troupe, TroupeOptions } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import type { PatternName, RunInput, RunOutput, TypesOf } from '../../src/runtime/typed-run.ts'
import { memoryStore } from './memory-store.ts'

type Rule = Record<string, unknown>

export interface TestTroupe {
  troupe: Troupe
  /** Runs `task` with an agent and an instruction. */
  task(agent: string, instruction: string, more?: Record<string, unknown>): Promise<RunResult>
  /** Event types of a run, in order. */
  eventTypes(run_id: string): Promise<string[]>
}

/** Creates a minimal agent. */
export function agent(name: string, more: Partial<Agent> = {}): Agent {
  return { name, description: `${name} of the test`, instructions: `You are ${name}.`, ...more }
}

export const agents = [agent('lead'), agent('coder'), agent('critic')]

/** A call of the `task` tool. */
export function taskCall(name: string, instruction: string, more: Record<string, unknown> = {}) {
  return { name: 'task', input: { agent: name, instruction, ...more } }
}

/** Scripted model; a request that no rule matches fails. */
export function modelFromRules(...rules: Rule[]): Model {
  return scriptedModel({ rules, otherwise: 'error' } as never)
}

const stores = new WeakMap<Troupe, Store>()

/**
 * Creates a troupe on a store object, in memory by default, which `storeOf` returns. With `engine`, everything is loaded at once:
 * tests that drive the event loop by hand would otherwise wait for files.
 */
export async function createTroupeWithStore(options: TroupeOptions): Promise<Troupe> {
  const store = options.store === undefined || options.store === 'memory' ? memoryStore() : options.store
  const troupe = await createTroupe({ engine: {}, ...options, store })
  if (typeof store !== 'string') stores.set(troupe, store)
  return troupe
}

/** The store of a troupe that a test has created, for a second troupe or to look behind the queries. */
export function storeOf(troupe: Troupe): Store {
  const store = stores.get(troupe)
  if (!store) throw new Error('not created by createTroupeWithStore')
  return store
}

/** Creates a troupe with an in-memory store by default and, with `rules`, a scripted model. */
export async function createTestTroupe(options: TroupeOptions & { rules?: Rule[] }): Promise<TestTroupe> {
  const { rules, ...rest } = options
  const troupe = await createTroupeWithStore({
    ...(rules ? { model: modelFromRules(...rules) } : undefined),
    ...rest,
  })
  return {
    troupe,
    task: (name, instruction, more) => runToEnd(troupe, 'task', { agent: name, instruction, ...more }),
    eventTypes: async (run_id) => (await troupe.events(run_id).all()).map((event) => event.type),
  }
}

/** Runs a pattern and returns how the run ended, also if it failed. */
export async function runToEnd<const Name extends PatternName<[]>, Output extends Schema = Schema>(
  troupe: Pick<Troupe, 'stream'>,
  ...request: [Name, RunInput<TypesOf<[], Name>, Output>, RunOptions?]
): Promise<RunResult<RunOutput<TypesOf<[], Name>, Output>>> {
  return (await troupe.stream(...request)).result as Promise<RunResult<RunOutput<TypesOf<[], Name>, Output>>>
}

export interface ModelReply {
  text?: string
  calls?: { name: string; input: unknown; id?: string }[]
}

/** Model whose replies come from a function; `requests` records every request. */
export function functionModel(
  reply: (request: ModelRequest) => ModelReply | Promise<ModelReply>,
  countInput: (request: ModelRequest) => number = () => 10,
): Model & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = []
  return {
    name: 'function',
    requests,
    async *stream(request): AsyncGenerator<ModelChunk> {
      requests.push({ ...request, messages: structuredClone(request.messages) })
      const { text, calls = [] } = await reply(request)
      if (text !== undefined) yield { type: 'text', text }
      for (const [index, { name, input, id }] of calls.entries()) {
        yield { type: 'tool-call', id: id ?? `c${request.session.turn}_${index}`, name, input }
      }
      const usage = { input: countInput(request), output: 5, cache_read: 0, cache_write: 0, reasoning: 0 }
      yield { type: 'finish', stop: calls.length > 0 ? 'tool_calls' : 'end', usage }
    },
  }
}

/** All text of the last message of a request, tool results included. */
export function lastMessageText(request: ModelRequest): string {
  const last = request.messages.at(-1)
  return (last?.content ?? []).map((part) => ('text' in part ? part.text : '')).join('\n')
}

/** The session id in the last tool result. */
export function lastResultSessionId(request: ModelRequest): string {
  return /"session_id":"([^"]+)"/.exec(lastMessageText(request))?.[1] ?? 'none'
}
