import type { Model, ModelChunk } from '../../src/entries/models.ts'
import type { TroupeOptions } from '../../src/index.ts'
import type { ModelRequest } from '../../src/kernel/model.ts'
import type { ConsultOutput } from '../../src/patterns/consult/output.ts'
import type { Reply } from './consult-replies.ts'
import { routeTo } from './consult-replies.ts'
import { agent, createTestTroupe, functionModel, lastMessageText } from './test-troupe.ts'

export const CONSULT_TOOLS = ['consult', 'consult_result', 'rate_consultation']

/** Askers with the tools of consultations, and specialists that have them, too. */
export const consultAgents = ['asking', 'answering', 'guarding', 'checking'].map((name) =>
  agent(name, { tools: CONSULT_TOOLS, description: `${name} of the test` }),
)

/** A troupe whose agents reply by name; the orchestrator routes to the backend developer by default. */
export async function createConsultTroupe(replies: Record<string, Reply>, options: TroupeOptions = {}) {
  const model = functionModel((request) => {
    const reply =
      replies[request.session.agent] ?? (request.session.agent === 'orchestrator' ? routeTo('answering') : undefined)
    if (!reply) throw new Error(`no reply for ${request.session.agent}`)
    return typeof reply === 'function' ? reply(request) : reply
  })
  const created = await createTestTroupe({ model, agents: consultAgents, embedder: false, ...options })
  const { troupe } = created
  /** Runs the frontend developer with one call of a tool per turn; the last results are its answer. */
  const consultEvents = async (run_id: string) => {
    const events: { type: string; data: Record<string, unknown> }[] = (await troupe.events(run_id).all()) as never
    return events.filter(({ type }) => type.startsWith('consult:'))
  }
  return { ...created, model, consultEvents }
}

/** The result of a consultation in the last message of a request. */
export function consultResult(request: ModelRequest): ConsultOutput {
  return JSON.parse(lastMessageText(request)) as ConsultOutput
}

/** The call that collects the consultation of the last message. */
export function collectCall(request: ModelRequest) {
  return [{ name: 'consult_result', input: { collaboration_id: consultResult(request).collaboration_id } }]
}

/** The result in the answer of an asker. */
export function deliveredTo(result: { output?: unknown }): ConsultOutput {
  return JSON.parse((result.output as { response: string }).response) as ConsultOutput
}

/** A model whose specialists write a text and never end; the orchestrator routes at once. */
export function createSlowModel(text: string): Model {
  return {
    name: 'slow',
    async *stream(request, signal): AsyncGenerator<ModelChunk> {
      const usage = { input: 10, output: 5, cache_read: 0, cache_write: 0, reasoning: 0 }
      const isRouting = request.session.agent === 'orchestrator'
      yield { type: 'text', text: isRouting ? (routeTo('answering').text ?? '') : text }
      if (!isRouting) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      yield { type: 'finish', stop: 'end', usage }
    },
  }
}
