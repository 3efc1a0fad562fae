import type { Event } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import type { Execution } from '../../kernel/journal/execution.ts'
import type { Message, ModelRequest, RefusedFeature } from '../../kernel/model.ts'
import { userMessage } from '../../kernel/model.ts'

/*
 * A server may refuse a part of a request: tools, a schema for the answer, a setting. The request is sent again without exactly
 * that part, at once, and later requests of the run to the same model are sent without it from the start.
 */

const refusedByExecution = new WeakMap<Execution, Map<string, RefusedFeature[]>>()

function refusedBy(execution: Execution, model: string): RefusedFeature[] {
  const byModel = refusedByExecution.get(execution) ?? new Map<string, RefusedFeature[]>()
  refusedByExecution.set(execution, byModel)
  const refused = byModel.get(model) ?? []
  byModel.set(model, refused)
  return refused
}

/** Takes over what earlier attempts at a request found, which may have been made by another process. */
export function recallRefusals(execution: Execution, attempts: readonly Event[]): void {
  for (const event of attempts)
    if (isEvent(event, 'model:error') && event.data.refused && event.data.retry)
      refusedBy(execution, event.data.retry.model).push(event.data.refused)
}

/** Records a refusal; false if the request did not have that part, so that sending it again would not help. */
export function recordRefusal(execution: Execution, request: ModelRequest, refused: RefusedFeature): boolean {
  if (!hasFeature(request, refused)) return false
  refusedBy(execution, request.model).push(refused)
  return true
}

function hasFeature({ output, tools, settings, system }: ModelRequest, refused: RefusedFeature): boolean {
  switch (refused.feature) {
    case 'output':
      return output !== undefined
    case 'tools':
      return tools.length > 0
    case 'system':
      return system !== ''
    case 'max_output':
      return settings.max_output !== undefined && refused.max < settings.max_output
    default:
      return settings[refused.feature] !== undefined
  }
}

/** The request without what its model has refused in this run. */
export function withoutRefused(execution: Execution, request: ModelRequest): ModelRequest {
  return refusedBy(execution, request.model).reduce(withoutFeature, request)
}

function withoutFeature(request: ModelRequest, refused: RefusedFeature): ModelRequest {
  const { settings } = request
  switch (refused.feature) {
    case 'output': {
      const { output, ...rest } = request
      return output ? { ...rest, messages: withLastUserText(request.messages, shapeInWords(output)) } : request
    }
    case 'tools':
      return { ...request, tools: [] }
    case 'system':
      return { ...request, system: '', messages: withFirstUserText(request.messages, request.system) }
    case 'max_output':
      return {
        ...request,
        settings: { ...settings, max_output: Math.min(refused.max, settings.max_output ?? refused.max) },
      }
    default: {
      const { [refused.feature]: _refused, ...others } = settings
      return { ...request, settings: others }
    }
  }
}

function shapeInWords(schema: object): string {
  return `Reply with one JSON object and nothing else. It has to match this JSON Schema:\n${JSON.stringify(schema)}`
}

function withLastUserText(messages: readonly Message[], text: string): Message[] {
  const last = messages.at(-1)
  if (last?.role !== 'user') return [...messages, userMessage(text)]
  return [...messages.slice(0, -1), { ...last, content: [...last.content, { type: 'text', text: `\n\n${text}` }] }]
}

function withFirstUserText(messages: readonly Message[], text: string): Message[] {
  const [first, ...rest] = messages
  if (text === '') return [...messages]
  if (first?.role !== 'user') return [userMessage(text), ...messages]
  return [{ ...first, content: [{ type: 'text', text: `${text}\n\n` }, ...first.content] }, ...rest]
}
