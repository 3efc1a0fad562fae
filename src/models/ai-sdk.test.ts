import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider'
import { APICallError } from '@ai-sdk/provider'
import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test'
import { describe, expect, test } from 'vitest'
import type { TroupeError } from '../errors.ts'
import type { Message, Model, ModelChunk, ModelRequest } from '../kernel/model.ts'
import { userMessage } from '../kernel/model.ts'
import type { ModelBehavior } from '../testing/model-contract.ts'
import { collectChunks, modelContract, modelRequest } from '../testing/model-contract.ts'
import { fromLanguageModel } from './ai-sdk.ts'
import type { LanguageModelOptions } from './language-model.ts'

type Part = LanguageModelV4StreamPart

modelContract('a model of the AI SDK', () => ({ createModel, dispose: () => {} }), { describe, test })

function createModel(behaviors: Record<string, ModelBehavior>): Model {
  const doStream = async ({ prompt }: LanguageModelV4CallOptions) => {
    const says = JSON.stringify(prompt.at(-1)?.content)
    const key = Object.keys(behaviors).find((word) => says.includes(`"${word}"`))
    const behavior = behaviors[key ?? '']
    if (behavior?.kind === 'slow') return new Promise<never>(() => {})
    if (behavior?.kind === 'error') throw failure(behavior.status, behavior.message)
    return { stream: convertArrayToReadableStream(behavior ? partsFor(behavior) : []) }
  }
  return fromLanguageModel(new MockLanguageModelV4({ doStream }))
}

function partsFor(behavior: ModelBehavior): Part[] {
  if (behavior.kind === 'text') {
    const reason = behavior.stop === 'refusal' ? 'content-filter' : (behavior.stop ?? 'stop')
    return [...textParts(behavior.text), finish(reason, behavior.usage)]
  }
  if (behavior.kind === 'cut') return [...textParts(behavior.text).slice(0, 3), finish('interrupted')]
  if (behavior.kind !== 'tool-calls') return []
  const calls = behavior.calls.map(({ name, arguments: input }, n): Part => {
    return { type: 'tool-call', toolCallId: `c${n}`, toolName: name, input }
  })
  return [...calls, finish('tool-calls')]
}

function textParts(text: string): Part[] {
  const deltas = (text.match(/.{1,9}/g) ?? []).map((delta): Part => ({ type: 'text-delta', id: '0', delta }))
  return [{ type: 'text-start', id: '0' }, ...deltas, { type: 'text-end', id: '0' }]
}

function reportedUsage(input?: number, output?: number): LanguageModelV4Usage {
  const none = { noCache: undefined, cacheRead: undefined, cacheWrite: undefined }
  return {
    inputTokens: { total: input, ...none },
    outputTokens: { total: output, text: undefined, reasoning: undefined },
  }
}

type Reason = Extract<Part, { type: 'finish' }>['finishReason']['unified']

function finish(unified: Reason, usage?: { input: number; output: number }): Part {
  return { type: 'finish', finishReason: { unified, raw: unified }, usage: reportedUsage(usage?.input, usage?.output) }
}

function failure(statusCode: number, message: string): APICallError {
  return new APICallError({ message, statusCode, url: 'http://127.0.0.1', requestBodyValues: {} })
}

/** Sends a request to a provider that streams these parts; returns the chunks and the call options it received. */
async function run(
  parts: Part[],
  request: Partial<ModelRequest> = {},
  { options, ...identity }: { provider?: string; modelId?: string; options?: LanguageModelOptions } = {},
) {
  const mock = new MockLanguageModelV4({
    ...identity,
    doStream: async () => ({ stream: convertArrayToReadableStream(parts) }),
  })
  const model = fromLanguageModel(mock, options)
  const { chunks, thrown } = await collectChunks(
    model.stream(modelRequest('go', request), new AbortController().signal),
  )
  const callOptions = mock.doStreamCalls[0] as LanguageModelV4CallOptions
  return { chunks, error: thrown as TroupeError & { usage?: unknown }, callOptions, last: chunks.at(-1) }
}

const END = finish('stop', { input: 1, output: 1 })

describe('requests', () => {
  test('MO2 tools are sent with their schemas under names that every provider accepts, and calls are mapped back', async () => {
    const input = { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', properties: {} }
    const tools = ['git.log', 'git:log', 'git_log'].map((name) => ({ name, description: name, input }))
    const call: Part = { type: 'tool-call', toolCallId: 'c', toolName: 'git_log_2', input: ' ' }
    const { callOptions, chunks } = await run([call, END], { tools })
    expect(callOptions.tools?.map(({ name }) => name)).toEqual(['git_log_2', 'git_log_3', 'git_log'])
    expect(callOptions.tools?.[0]).toMatchObject({ type: 'function', inputSchema: { type: 'object', properties: {} } })
    expect(JSON.stringify(callOptions.tools)).not.toContain('$schema')
    expect(chunks[0]).toMatchObject({ name: 'git.log', input: {} })
    expect(chunks[1]).toMatchObject({ type: 'finish', stop: 'tool_calls' })
    expect((await run([END])).callOptions).not.toHaveProperty('tools')
  })

  test('MO79 reasoning that a local server sends as text is reasoning', async () => {
    const { chunks } = await run([...textParts('<think>Is it {yes}?</think> It is.'), END])
    const join = (type: string) => chunks.flatMap((chunk) => (chunk.type === type && 'text' in chunk ? chunk.text : []))
    expect([join('reasoning').join(''), join('text').join('')]).toEqual(['Is it {yes}?', 'It is.'])
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', stop: 'end' })
  })

  test('MO4 reasoning keeps its provider metadata and is sent back only to the model that wrote it', async () => {
    const parts: Part[] = [
      { type: 'reasoning-start', id: 'r', providerMetadata: { p: { id: 'rs_1' } } },
      { type: 'reasoning-delta', id: 'r', delta: 'Hm, ' },
      { type: 'reasoning-delta', id: 'r', delta: 'yes.' },
      { type: 'reasoning-delta', id: 'r', delta: '', providerMetadata: { p: { signature: 'sig' } } },
      { type: 'reasoning-end', id: 'r' },
      { type: 'reasoning-start', id: 'hidden', providerMetadata: { p: { data: 'xyz' } } },
      { type: 'reasoning-end', id: 'hidden' },
      { type: 'reasoning-start', id: 'nothing' },
      { type: 'reasoning-end', id: 'nothing' },
      { type: 'text-delta', id: '0', delta: 'Yes.' },
      END,
    ]
    const { chunks } = await run(parts, {}, { options: { name: 'here/model' } })
    const metadata = (fields: object) => ({ model: 'here/model', metadata: { p: fields } })
    expect(chunks.slice(0, -2)).toEqual([
      { type: 'reasoning', text: 'Hm, ' },
      { type: 'reasoning', text: 'yes.' },
      { type: 'reasoning', text: '', provider: metadata({ id: 'rs_1', signature: 'sig' }) },
      { type: 'reasoning', text: '', provider: metadata({ data: 'xyz' }) },
    ])
    const messages: Message[] = [
      userMessage('go'),
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm, yes.', provider: metadata({ signature: 'sig' }) },
          { type: 'text', text: 'Yes.' },
        ],
      },
      { role: 'assistant', content: [{ type: 'reasoning', text: 'alone', provider: metadata({}) }] },
      userMessage('And?'),
    ]
    const same = (await run([END], { messages }, { options: { name: 'here/model' } })).callOptions
    const thought = { type: 'reasoning', text: 'Hm, yes.', providerOptions: { p: { signature: 'sig' } } }
    expect(same.prompt[2]).toEqual({ role: 'assistant', content: [thought, { type: 'text', text: 'Yes.' }] })
    expect(same.prompt[3]).toEqual({ role: 'user', content: [{ type: 'text', text: 'And?' }] })
    const other = (await run([END], { messages }, { options: { name: 'there/model' } })).callOptions
    expect(other.prompt[2]).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] })
  })

  test('MO5 a tool call keeps its provider metadata', async () => {
    const providerMetadata = { google: { thoughtSignature: 'sig' } }
    const call: Part = { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}', providerMetadata }
    const { chunks } = await run([call, END], {}, { options: { name: 'google/g' } })
    const message: Message = { role: 'assistant', content: [chunks[0] as Extract<ModelChunk, { type: 'tool-call' }>] }
    const { callOptions } = await run([END], { messages: [message] }, { options: { name: 'google/g' } })
    expect(callOptions.prompt[1]).toMatchObject({ content: [{ toolCallId: 'c', providerOptions: providerMetadata }] })
  })
})

describe('responses', () => {
  test('MO7 usage includes cached and reasoning tokens, and is absent when the provider reports none', async () => {
    const usage = {
      inputTokens: { total: 100, noCache: 10, cacheRead: 70, cacheWrite: 20 },
      outputTokens: { total: 30, text: 18, reasoning: 12 },
    }
    const end: Part = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage }
    const reported = { input: 100, output: 30, cache_read: 70, cache_write: 20, reasoning: 12 }
    expect((await run([end])).last).toEqual({ type: 'finish', stop: 'end', usage: reported })
    expect((await run([finish('stop')])).last).toEqual({ type: 'finish', stop: 'end' })
  })

  test('MO8 an unexplained stop is other, or tool_calls when tools were called', async () => {
    const call: Part = { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}' }
    expect((await run([finish('other')])).last).toMatchObject({ stop: 'other' })
    expect((await run([call, finish('other')])).last).toMatchObject({ stop: 'tool_calls' })
    expect((await run([call, finish('length')])).last).toMatchObject({ stop: 'length' })
  })

  test('MO9 other stream parts are skipped: provider tools, sources, files, pings and unknown types', async () => {
    const parts = [
      { type: 'stream-start', warnings: [{ type: 'unsupported', feature: 'temperature' }] },
      { type: 'response-metadata', id: 'r' },
      { type: 'ping' },
      { type: 'raw', rawValue: {} },
      { type: 'source', sourceType: 'url', id: 's', url: 'https://example.com' },
      { type: 'tool-input-start', id: 'c', toolName: 'web_search', providerExecuted: true },
      { type: 'tool-call', toolCallId: 'c', toolName: 'web_search', input: '{}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 'c', toolName: 'web_search', result: 'found' },
      { type: 'future-part', value: 1 },
      { type: 'text-delta', id: '0', delta: 'Found.' },
      END,
    ] as Part[]
    const { chunks, error } = await run(parts)
    expect(error).toBeUndefined()
    expect(chunks).toEqual([
      { type: 'text', text: 'Found.' },
      { type: 'finish', stop: 'end', usage: { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 } },
    ])
  })

  test('MO10 an error inside a stream is thrown without a status, because its usage is unknown', async () => {
    const overloaded = { message: 'Overloaded', statusCode: 529, type: 'overloaded_error', data: {} }
    const text: Part = { type: 'text-delta', id: '0', delta: 'Half' }
    const { chunks, error } = await run([text, { type: 'error', error: overloaded }, finish('error')])
    expect(chunks).toEqual([{ type: 'text', text: 'Half' }])
    expect(error).toMatchObject({ code: 'model_failed', retry: true })
    expect(error.message).toContain('529: Overloaded')
    expect(error).not.toHaveProperty('status')
    const ended = await run([finish('error', { input: 5, output: 2 })])
    expect(ended.error).toMatchObject({ code: 'model_invalid_response', usage: { input: 5, output: 2 } })
  })

  test('MO11 a stream without a finish just ends; a lost connection is stream_interrupted, unless the finish has arrived', async () => {
    const text: Part = { type: 'text-delta', id: '0', delta: 'Half' }
    expect(await run([text])).toMatchObject({ chunks: [{ type: 'text', text: 'Half' }], error: undefined })
    const brokenStream = (before: readonly Part[]) =>
      new ReadableStream<Part>({
        pull: (controller) => controller.error(new TypeError('terminated', { cause: { code: 'UND_ERR_SOCKET' } })),
        start: (controller) => before.forEach((part) => void controller.enqueue(part)),
      })
    const request = (before: readonly Part[]) => {
      const doStream = async () => ({ stream: brokenStream(before) })
      const model = fromLanguageModel(new MockLanguageModelV4({ doStream }))
      return collectChunks(model.stream(modelRequest('go'), new AbortController().signal))
    }
    expect((await request([])).thrown).toMatchObject({ code: 'stream_interrupted' })
    const late = await request([END])
    expect(late).toMatchObject({ thrown: undefined, chunks: [{ type: 'finish', stop: 'end' }] })
  })

  test('MO12 when a provider ignores the abort signal, the request rejects and its stream is cancelled', async () => {
    let cancelled: unknown
    const stream = new ReadableStream<Part>({
      start: (controller) => controller.enqueue({ type: 'text-delta', id: '0', delta: 'One' }),
      cancel: (reason) => {
        cancelled = reason
      },
    })
    const model = fromLanguageModel(new MockLanguageModelV4({ doStream: async () => ({ stream }) }))
    const controller = new AbortController()
    const chunks = model.stream(modelRequest('go'), controller.signal)[Symbol.asyncIterator]()
    expect((await chunks.next()).value).toEqual({ type: 'text', text: 'One' })
    const next = chunks.next()
    controller.abort(new Error('enough'))
    await expect(next).rejects.toThrow('enough')
    expect(cancelled).toBe(controller.signal.reason)
  })

  test('MO26 a web page from a provider object is model_invalid_response', async () => {
    const response = { headers: { 'content-type': 'text/html; charset=utf-8' } }
    const doStream = async () => ({ stream: convertArrayToReadableStream<Part>([]), response })
    const model = fromLanguageModel(new MockLanguageModelV4({ doStream }))
    const { thrown } = await collectChunks(model.stream(modelRequest('go'), new AbortController().signal))
    expect(thrown).toMatchObject({ code: 'model_invalid_response', usage: { input: 0 } })
  })
})
