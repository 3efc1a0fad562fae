import type { Event, EventOf } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import type { Execution } from '../../kernel/journal/execution.ts'
import type { Message, ModelRequest, RefusedFeature } from '../../kernel/model.ts'
import { userMessage } from '../../kernel/model.ts'
import { withoutResultFiles } from '../../requests/result-files.ts'

/*
 * A server may refuse a part of a request: tools, a schema for the answer, a setting. The request is sent again without exactly
 * that part, at once, and later requests of the run to the same model are sent without it from the start.
 */

interface Refusal {
  refused: RefusedFeature
  /** The characters of the refused request, to compare others with it. */
  size: number
}

const refusedByExecution = new WeakMap<Execution, Map<string, Refusal[]>>()

function addRefusal(execution: Execution, model: string, refusal: Refusal): void {
  const byModel = refusedByExecution.get(execution) ?? new Map<string, Refusal[]>()
  byModel.set(model, [...(byModel.get(model) ?? []), refusal])
  refusedByExecution.set(execution, byModel)
}

/** Takes over what earlier attempts at a request found, which may have been made by another process. */
export function recallRefusals(execution: Execution, attempts: readonly Event[]): void {
  // The room that a window leaves depends on the refused request, which is gone: the server counts the next one again.
  for (const { data } of refusals(attempts))
    if (data.refused && data.refused.feature !== 'window' && data.retry)
      addRefusal(execution, data.retry.model, { refused: data.refused, size: 0 })
}

/** The attempts after which the request was sent again without a part of it. */
export function refusals(attempts: readonly Event[]): EventOf<'model:error'>[] {
  return attempts.filter((event) => isEvent(event, 'model:error')).filter(({ data }) => data.refused !== undefined)
}

/** Records a refusal; false if the request did not have that part, so that sending it again would not help. */
export function recordRefusal(execution: Execution, request: ModelRequest, refused: RefusedFeature): boolean {
  const refusal = { refused, size: requestSize(request) }
  if (!hasFeature(request, refusal)) return false
  addRefusal(execution, request.model, refusal)
  return true
}

function hasFeature(request: ModelRequest, refusal: Refusal): boolean {
  const { output, tools, settings, system } = request
  const { refused } = refusal
  switch (refused.feature) {
    case 'output':
      return output !== undefined
    case 'tools':
      return tools.length > 0
    case 'system':
      return system !== ''
    case 'result_files':
      return request.messages.some((message) => message.role === 'tool' && message.content.some(({ files }) => files))
    case 'max_output':
    case 'window':
      return settings.max_output !== undefined && maxOutput(refusal, request) < settings.max_output
    default:
      return settings[refused.feature] !== undefined
  }
}

/** The request without what its model has refused in this run. */
export function withoutRefused(execution: Execution, request: ModelRequest): ModelRequest {
  return refusedByExecution.get(execution)?.get(request.model)?.reduce(withoutFeature, request) ?? request
}

/** The share of the remaining window to ask for: the conversation grows, and so does its count of tokens. */
const WINDOW_SHARE = 0.75
/** An estimate that leaves less than this is left to the server, which counts the request itself. */
const MIN_OUTPUT_TOKENS = 48

/** The `max_output` that the server accepts. A window leaves a shorter request more room than the one that was refused. */
function maxOutput({ refused, size }: Refusal, request: ModelRequest): number {
  if (refused.feature === 'max_output') return refused.max
  if (refused.feature !== 'window') return Number.POSITIVE_INFINITY
  const input = refused.input * (requestSize(request) / size)
  const max = Math.floor((refused.tokens - input) * WINDOW_SHARE)
  return max < MIN_OUTPUT_TOKENS ? Number.POSITIVE_INFINITY : max
}

function requestSize({ system, messages, tools, output }: ModelRequest): number {
  return JSON.stringify([system, messages, tools, output]).length
}

function withoutFeature(request: ModelRequest, refusal: Refusal): ModelRequest {
  const { settings } = request
  const { refused } = refusal
  switch (refused.feature) {
    case 'output': {
      const { output, ...rest } = request
      return output ? { ...rest, messages: withLastUserText(request.messages, shapeInWords(output)) } : request
    }
    case 'tools':
      return { ...request, tools: [] }
    case 'result_files':
      return { ...request, messages: request.messages.map((message) => withoutFiles(message, request.model)) }
    case 'system':
      return { ...request, system: '', messages: withFirstUserText(request.messages, request.system) }
    case 'max_output':
    case 'window': {
      const max = Math.min(maxOutput(refusal, request), settings.max_output ?? Number.POSITIVE_INFINITY)
      return Number.isFinite(max) ? { ...request, settings: { ...settings, max_output: max } } : request
    }
    default: {
      const { [refused.feature]: _refused, ...others } = settings
      return { ...request, settings: others }
    }
  }
}

function withoutFiles(message: Message, model: string): Message {
  if (message.role !== 'tool') return message
  return { ...message, content: message.content.map((part) => withoutResultFiles(part, model)) }
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
