import type { Agent, Model, ModelChunk, ModelRequest, RunResult, Troupe, TroupeOptions } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import { scriptedModel } from '../../src/models/scripted.ts'

type Rule = Record<string, unknown>

export interface TestTroupe {
  troupe: Troupe
  /** Runs `task` with an agent and an instruction. */
  task(agent: string, instruction: string, more?: Record<string, unknown>): Promise<RunResult>
  /** Types of the events of a run, in order. */
  eventTypes(run_id: string): Promise<string[]>
}

/** An agent in one line. */
export function agent(name: string, more: Partial<Agent> = {}): Agent {
  return { name, description: `${name} of the test`, instructions: `You are ${name}.`, ...more }
}

/** A model that plays these rules; a miss is an error. */
export function modelFromRules(...rules: Rule[]): Model {
  return scriptedModel({ rules, otherwise: 'error' } as never)
}

/** A troupe in memory (unless said otherwise) with a scripted model. */
export async function createTestTroupe(options: TroupeOptions & { rules?: Rule[] }): Promise<TestTroupe> {
  const { rules, ...rest } = options
  const troupe = await createTroupe({
    store: 'memory',
    ...(rules ? { model: modelFromRules(...rules) } : undefined),
    ...rest,
  })
  return {
    troupe,
    task: (name, instruction, more) => troupe.run('task', { agent: name, instruction, ...more }),
    eventTypes: async (run_id) => (await troupe.events(run_id)).map((event) => event.type),
  }
}

export interface ModelReply {
  text?: string
  calls?: { name: string; input: unknown; id?: string }[]
}

/** A model whose answers a function gives; `seen` keeps every request. */
export function functionModel(
  play: (request: ModelRequest) => ModelReply | Promise<ModelReply>,
  counts: (request: ModelRequest) => number = () => 10,
): Model & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = []
  return {
    name: 'played',
    requests,
    async *stream(request): AsyncGenerator<ModelChunk> {
      requests.push({ ...request, messages: structuredClone(request.messages) })
      const { text, calls = [] } = await play(request)
      if (text !== undefined) yield { type: 'text', text }
      for (const [index, { name, input, id }] of calls.entries()) {
        yield { type: 'tool-call', id: id ?? `c${request.session.turn}_${index}`, name, input }
      }
      const usage = { input: counts(request), output: 5, cache_read: 0, cache_write: 0, reasoning: 0 }
      yield { type: 'finish', stop: calls.length > 0 ? 'tool_calls' : 'end', usage }
    },
  }
}

/** The texts of the last message, as the model reads them. */
export function lastMessageText(request: ModelRequest): string {
  const last = request.messages.at(-1)
  return (last?.content ?? []).map((part) => ('text' in part ? part.text : '')).join('\n')
}

/** The session id that the last tool result names. */
export function lastResultSessionId(request: ModelRequest): string {
  return /"session_id":"([^"]+)"/.exec(lastMessageText(request))?.[1] ?? 'none'
}
