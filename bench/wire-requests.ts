import { setTimeout as delay } from 'node:timers/promises'
import type { Model } from '../src/kernel/model.ts'
import { loadProviderModel } from '../src/models/providers.ts'
import type { ProviderResponse } from '../test/e2e/provider-responses.ts'
import { RESPONSE_ENCODERS } from '../test/e2e/provider-responses.ts'

/* Requests as providers get them: the body of each request, split into its sections, in the order that providers cache. */

export interface WireDialect {
  /** The protocol, as in `RESPONSE_ENCODERS`. */
  name: string
  model: string
  env: Readonly<Record<string, string>>
}

export const DIALECTS: readonly WireDialect[] = [
  { name: 'Anthropic', model: 'anthropic/claude-sonnet-5-5', env: { ANTHROPIC_API_KEY: 'none' } },
  { name: 'OpenAI responses', model: 'openai/gpt-5.5', env: { OPENAI_API_KEY: 'none' } },
  { name: 'OpenAI chat', model: 'openai-chat/gpt-5.5', env: { OPENAI_API_KEY: 'none' } },
  { name: 'Gemini', model: 'google/gemini-2.5-flash', env: { GEMINI_API_KEY: 'none' } },
  {
    name: 'OpenAI-compatible',
    model: 'compatible/some-model',
    env: { TROUPE_COMPATIBLE_BASE_URL: 'http://localhost/v1' },
  },
]

interface WireMessage {
  role?: string
  [part: string]: unknown
}

/** The fields of all protocols; each has some of them. */
export interface WireBody {
  system?: unknown
  instructions?: unknown
  systemInstruction?: unknown
  tools?: Record<string, unknown>[]
  messages?: WireMessage[]
  input?: WireMessage[]
  contents?: WireMessage[]
  response_format?: unknown
  output_config?: { format?: unknown }
  output_format?: unknown
  text?: { format?: unknown }
  generationConfig?: { responseSchema?: unknown; responseJsonSchema?: unknown }
  toolConfig?: { functionCallingConfig?: { mode?: string } }
}

/** A request by its sections, as JSON text. */
export interface WireRequest {
  tools: string[]
  instructions: string
  /** The schema of the answer. */
  schema: string
  messages: string[]
}

function parseWireRequest(body: WireBody): WireRequest {
  const all = body.messages ?? body.input ?? body.contents ?? []
  const isSystem = ({ role }: WireMessage) => role === 'system' || role === 'developer'
  const instructions = [body.system, body.instructions, body.systemInstruction, ...all.filter(isSystem)]
  const { response_format, output_config, output_format, text, generationConfig } = body
  const schema = [
    response_format,
    output_config?.format ?? output_format,
    text?.format,
    generationConfig?.responseSchema ?? generationConfig?.responseJsonSchema,
  ]
  return {
    tools: (body.tools ?? [])
      .flatMap((tool) => (tool.functionDeclarations as unknown[] | undefined) ?? [tool])
      .map(toText),
    instructions: instructions.filter(isPresent).map(toText).join('\n'),
    schema: schema.filter(isPresent).map(toText).join('\n'),
    messages: all.filter((message) => !isSystem(message)).map(toText),
  }
}

const isPresent = (part: unknown) => part !== undefined

/** Without cache breakpoints, which move from request to request and cost nothing. */
function toText(part: unknown): string {
  return JSON.stringify(part, (key, value: unknown) => (key === 'cache_control' ? undefined : value))
}

/** A block of a request, with the text of the request up to its end. */
export interface WireBlock {
  end: string
  /** Followed by a cache breakpoint. */
  marked: boolean
}

/** The blocks in the order that providers cache. */
function toBlocks(body: WireBody): WireBlock[] {
  const all = body.messages ?? body.input ?? body.contents ?? []
  const isSystem = ({ role }: WireMessage) => role === 'system' || role === 'developer'
  const parts = (message: WireMessage): unknown[] =>
    Array.isArray(message.content)
      ? message.content.map((part: object) => ({ role: message.role, ...part }))
      : [message]
  const system = [body.system ?? body.instructions ?? body.systemInstruction ?? []].flat()
  const blocks: unknown[] = [
    ...(body.tools ?? []),
    parseWireRequest(body).schema,
    ...system,
    ...all.filter(isSystem),
    ...all.filter((message) => !isSystem(message)).flatMap(parts),
  ]
  let text = ''
  return blocks.map((block) => {
    text += `${toText(block)}\n`
    return { end: text, marked: (block as { cache_control?: unknown }).cache_control !== undefined }
  })
}

export interface SentRequest extends WireRequest {
  text: string
  blocks: WireBlock[]
  /** The positions of the requests that had a response when this one was sent. */
  answered: readonly number[]
}

/** Requests that are sent at the same time overlap, as those to a real server do. */
const RESPONSE_DELAY_MS = 20

/** A model whose requests go nowhere: `respond` answers, `sent` collects the requests. */
export async function loadWireModel(
  { name, model, env }: WireDialect,
  respond: (request: WireRequest) => ProviderResponse,
): Promise<{ model: Model; sent: SentRequest[] }> {
  const sent: SentRequest[] = []
  const answered: number[] = []
  const encode = RESPONSE_ENCODERS[name]
  if (!encode) throw new Error(`no responses in the protocol '${name}'`)
  const fetch: typeof globalThis.fetch = async (_address, init) => {
    const body = JSON.parse(String(init?.body)) as WireBody
    const request = parseWireRequest(body)
    const blocks = toBlocks(body)
    const position = sent.push({ ...request, blocks, text: blocks.at(-1)?.end ?? '', answered: [...answered] }) - 1
    await delay(RESPONSE_DELAY_MS)
    answered.push(position)
    const headers = { 'content-type': 'text/event-stream' }
    return new Response(encode(inDialect(body, respond(request))), { headers })
  }
  return { model: await loadProviderModel(model, { env, fetch }), sent }
}

/** Gemini has no schema for the answer next to tools: it has to call a function that takes the answer. */
function inDialect({ toolConfig }: WireBody, response: ProviderResponse): ProviderResponse {
  if (toolConfig?.functionCallingConfig?.mode !== 'ANY' || response.text === undefined) return response
  const isJson = response.text.startsWith('{')
  return { call: { name: 'json', arguments: isJson ? response.text : JSON.stringify({ response: response.text }) } }
}

/** Tokenizers differ by provider; English text and JSON have about four characters per token. */
export function toTokens(characters: number): number {
  return Math.round(characters / 4)
}
