import { describe, expect, test } from 'vitest'
import type { AssistantMessage, Message, Model, ModelRequest } from '../../src/kernel/model.ts'
import { userMessage } from '../../src/kernel/model.ts'
import { loadProviderModel } from '../../src/models/providers.ts'
import type { ModelBehavior } from '../../src/testing/model-contract.ts'
import { collectChunks, modelContract, modelRequest } from '../../src/testing/model-contract.ts'
import type { Protocol } from './provider-harness.ts'
import { PROTOCOLS } from './provider-harness.ts'
import type { ProviderResponse } from './provider-responses.ts'
import { RESPONSE_ENCODERS } from './provider-responses.ts'

/** Loads a model with encoded responses; `sent` records the request bodies. */
async function loadModelWithResponses(protocol: Protocol, respond: (body: string) => string, id = protocol.model) {
  const sent: Record<string, unknown>[] = []
  const fetch: typeof globalThis.fetch = async (_, init) => {
    const body = String(init?.body)
    sent.push(JSON.parse(body) as Record<string, unknown>)
    return new Response(respond(body), { headers: { 'content-type': 'text/event-stream' } })
  }
  const env = { [protocol.variables.key]: 'a-key', [protocol.variables.base]: 'http://127.0.0.1:9' }
  return { model: await loadProviderModel(id, { env, fetch }), sent }
}

async function streamRequest(model: Model, changes: Partial<ModelRequest> = {}) {
  const { chunks, thrown } = await collectChunks(
    model.stream(modelRequest('go', changes), new AbortController().signal),
  )
  expect(thrown).toBeUndefined()
  return { chunks, finish: chunks.find((chunk) => chunk.type === 'finish') }
}

function toResponse(behavior: ModelBehavior | undefined): ProviderResponse {
  if (behavior?.kind === 'tool-calls' && behavior.calls[0]) return { call: behavior.calls[0] }
  if (behavior?.kind === 'text') return { text: behavior.text, ...(behavior.stop && { stop: behavior.stop }) }
  throw new Error('no encoding of this behaviour')
}

const isEncodedHere = (name: string, title: string) => /^M7/.test(title) || (/^M8/.test(title) && name !== 'Gemini')

for (const [name, protocol] of Object.entries(PROTOCOLS)) {
  const encode = RESPONSE_ENCODERS[name] as (response: ProviderResponse) => string

  async function createModel(behaviors: Record<string, ModelBehavior>): Promise<Model> {
    const { model } = await loadModelWithResponses(protocol, (body) => {
      const message = Object.keys(behaviors).find((key) => body.includes(`"${key}"`))
      return encode(toResponse(behaviors[message ?? '']))
    })
    return model
  }
  modelContract(`${name} with encoded responses`, () => ({ createModel, dispose: () => {} }), {
    describe,
    test: (title, run) => {
      if (isEncodedHere(name, title)) test(title, run)
    },
  })

  describe(`${name} with encoded responses`, () => {
    test('MO7 input tokens include cached tokens, output tokens include reasoning', async () => {
      const cache_write = name === 'Anthropic' ? 20 : 0
      const usage = { input: 100, cache_read: 70, cache_write, output: 30, reasoning: 12 }
      const { model } = await loadModelWithResponses(protocol, () => encode({ text: 'So it is.', usage }))
      expect((await streamRequest(model)).finish?.usage).toEqual(usage)
    })
  })
}

const LOOK = { name: 'look', description: 'Looks.', input: { type: 'object', properties: {} } }

/** Sends a request, merges the response as the kernel does, and prepares a second request with it. */
async function prepareSecondRequest(name: string, id: string) {
  const protocol = PROTOCOLS[name] as Protocol
  const encode = RESPONSE_ENCODERS[name] as (response: ProviderResponse) => string
  const thought = { text: 'Let me see.', signature: 'c2lnbmVk' }
  const response = encode({ thought, call: { name: 'look', arguments: '{"path":"a"}' } })
  const { model, sent } = await loadModelWithResponses(protocol, () => response, id)
  const { chunks } = await streamRequest(model, { tools: [LOOK] })
  const content = chunks.filter((chunk) => chunk.type === 'reasoning' || chunk.type === 'tool-call')
  const result = { type: 'tool-result' as const, id: '', name: 'look', text: 'here', is_error: false }
  const call = content.find((part) => part.type === 'tool-call')
  const messages: Message[] = [
    userMessage('go'),
    { role: 'assistant', content: mergeChunks(content) },
    { role: 'tool', content: [{ ...result, id: call?.id ?? '' }] },
  ]
  return { model, sent, messages, sendSecond: () => streamRequest(model, { tools: [LOOK], messages }) }
}

function mergeChunks(chunks: AssistantMessage['content']): AssistantMessage['content'] {
  const parts: AssistantMessage['content'] = []
  for (const chunk of chunks) {
    const last = parts.at(-1)
    if (last?.type === 'reasoning' && chunk.type === 'reasoning') {
      last.text += chunk.text
      last.provider = chunk.provider
    } else parts.push({ ...chunk })
  }
  return parts
}

describe('reasoning and cache marks in later requests', () => {
  test('MO4 Claude requests return its thinking with the signature and mark cache breakpoints', async () => {
    const { sent, sendSecond } = await prepareSecondRequest('Anthropic', 'anthropic/claude-opus-5-5')
    await sendSecond()
    const [, body] = sent as { messages: { role: string; content: object[] }[]; [key: string]: unknown }[]
    expect(body?.messages[1]?.content[0]).toEqual({ type: 'thinking', thinking: 'Let me see.', signature: 'c2lnbmVk' })
    const ephemeral = { cache_control: { type: 'ephemeral' } }
    expect(body?.system).toEqual([{ type: 'text', text: 'You are under test.', ...ephemeral }])
    expect(body?.tools).toMatchObject([{ name: 'look', ...ephemeral }])
    expect(body?.messages[2]?.content.at(-1)).toMatchObject({ type: 'tool_result', ...ephemeral })
    expect(body?.messages[0]?.content.at(-1)).toMatchObject({ type: 'text', ...ephemeral })
    expect(JSON.stringify(body).split('cache_control').length - 1).toBe(4)
    expect(body?.thinking).toEqual({ block_binding: { prefix_mismatch_behavior: 'drop_block' } })
  })

  test('MO45 OpenAI requests disable storage and return the encrypted reasoning', async () => {
    const { sent, sendSecond } = await prepareSecondRequest('OpenAI responses', 'openai/gpt-5')
    await sendSecond()
    const [first, body] = sent as { input: object[]; [key: string]: unknown }[]
    expect(first).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] })
    expect(body?.input).toContainEqual(expect.objectContaining({ type: 'reasoning', encrypted_content: 'c2lnbmVk' }))
    expect(JSON.stringify(body)).not.toContain('item_reference')
  })

  test('MO5 Gemini requests return the signature of its tool call', async () => {
    const { sent, sendSecond } = await prepareSecondRequest('Gemini', 'google/gemini-2.5-flash')
    await sendSecond()
    expect(JSON.stringify(sent[1])).toContain('"thoughtSignature":"c2lnbmVk"')
  })

  test('MO4 signed reasoning of one model is never sent to another', async () => {
    const { messages } = await prepareSecondRequest('Anthropic', 'anthropic/claude-opus-5-5')
    const protocol = PROTOCOLS.Gemini as Protocol
    const { model, sent } = await loadModelWithResponses(protocol, () =>
      (RESPONSE_ENCODERS.Gemini as (response: ProviderResponse) => string)({ text: 'Yes.' }),
    )
    await streamRequest(model, { tools: [LOOK], messages })
    expect(JSON.stringify(sent[0])).not.toMatch(/c2lnbmVk|Let me see/)
    expect(JSON.stringify(sent[0])).toContain('"functionCall"')
  })
})

test.each([
  ['Anthropic', 'anthropic/claude-opus-5-5', { output_config: { effort: 'high' }, max_tokens: 500 }],
  ['OpenAI chat', 'openai-chat/gpt-5', { reasoning_effort: 'high', max_completion_tokens: 500 }],
  ['OpenAI responses', 'openai/gpt-6.1-sol', { reasoning: { effort: 'high' }, max_output_tokens: 500 }],
  ['Gemini', 'google/gemini-3.8-flash', { generationConfig: { thinkingConfig: { thinkingLevel: 'high' } } }],
  ['OpenAI-compatible', 'compatible/gpt-oss-120b', { reasoning_effort: 'high', max_tokens: 500 }],
])('A23 effort is mapped to the parameter of %s, with the same output limit', async (name, id, expected) => {
  const encode = RESPONSE_ENCODERS[name] as (response: ProviderResponse) => string
  const { model, sent } = await loadModelWithResponses(PROTOCOLS[name] as Protocol, () => encode({ text: 'So.' }), id)
  await streamRequest(model, { settings: { effort: 'high', max_output: 500 } })
  expect(sent[0]).toMatchObject(expected)
})

test.each([
  ['Anthropic', 'anthropic/claude-haiku-4-5'],
  ['OpenAI responses', 'openai/gpt-4o'],
  ['OpenAI-compatible', 'compatible/some-model'],
])('A23 effort is not sent to a model of %s that does not support it', async (name, id) => {
  const encode = RESPONSE_ENCODERS[name] as (response: ProviderResponse) => string
  const { model, sent } = await loadModelWithResponses(PROTOCOLS[name] as Protocol, () => encode({ text: 'So.' }), id)
  await streamRequest(model, { settings: { max_output: 500 } })
  await streamRequest(model, { settings: { effort: 'high', max_output: 500 } })
  expect(sent[1]).toEqual(sent[0])
})
