import type { Model, ModelRequest } from '../../src/entries/models.ts'
import { loadProviderModel } from '../../src/models/providers.ts'
import type { ProviderResponse } from '../e2e/provider-responses.ts'
import { RESPONSE_ENCODERS } from '../e2e/provider-responses.ts'

/** The body of a chat completions request, as far as it is rendered. */
export interface WireRequest {
  messages: { role: string; content?: unknown; tool_calls?: unknown }[]
  tools?: { function: { name: string; description: string; parameters: unknown } }[]
  response_format?: unknown
  [setting: string]: unknown
}

/** Replies by agent, one per turn; the last one repeats. */
export type WireReplies = Record<string, readonly (string | ProviderResponse)[]>

export interface WireRecorder extends Model {
  /** The request of an agent by its turn, as it went over the wire. */
  requestOf(agent: string, turn?: number): WireRequest
}

/** A model that speaks the protocol of OpenAI-compatible servers with a fetch that records and replies. */
export function createWireRecorder(replies: WireReplies, limits?: Model['limits']): WireRecorder {
  const requests = new Map<string, WireRequest[]>()
  const answer = (request: ModelRequest, body: string): Response => {
    const { agent } = request.session
    const earlier = requests.get(agent) ?? []
    requests.set(agent, [...earlier, JSON.parse(body) as WireRequest])
    const own = replies[agent] ?? []
    const reply = own[earlier.length] ?? own.at(-1) ?? 'Done.'
    const response = typeof reply === 'string' ? { text: reply } : reply
    const headers = { 'content-type': 'text/event-stream' }
    return new Response(RESPONSE_ENCODERS['OpenAI-compatible']?.(response), { headers })
  }
  return {
    name: 'compatible/golden',
    ...(limits ? { limits } : undefined),
    async *stream(request, signal) {
      const fetch = async (_url: unknown, init?: RequestInit) => answer(request, String(init?.body))
      const env = { TROUPE_COMPATIBLE_BASE_URL: 'http://golden.invalid/v1' }
      const model = await loadProviderModel('compatible/golden', { env, fetch: fetch as typeof globalThis.fetch })
      yield* model.stream(request, signal)
    },
    requestOf(agent, turn = 1) {
      const request = requests.get(agent)?.[turn - 1]
      if (request) return request
      throw new Error(`no request ${turn} of ${agent}; there are requests of ${[...requests.keys()].join(', ')}`)
    },
  }
}

/** The request as text, so that a change of a prompt can be reviewed line by line. Nothing is left out. */
export function formatWireRequest({ messages, tools = [], response_format, ...settings }: WireRequest): string {
  const sections = messages.map(({ role, content, ...rest }) => {
    const text = typeof content === 'string' || content === null ? (content ?? '') : pretty(content)
    const more = Object.keys(rest).length > 0 ? `\n${pretty(rest)}` : ''
    return `=== ${role}\n${text}${more}`
  })
  const toolSections = tools.map(
    ({ function: { name, description, parameters } }) => `=== tool ${name}\n${description}\n${pretty(parameters)}`,
  )
  const format = response_format === undefined ? [] : [`=== response_format\n${pretty(response_format)}`]
  return `${[`=== settings\n${pretty(settings)}`, ...sections, ...format, ...toolSections].join('\n\n')}\n`
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 1)
}
