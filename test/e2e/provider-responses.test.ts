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

/** A model whose provider answers with what is written down; `sent` holds the bodies of its requests. */
async function modelWithResponses(protocol: Protocol, wire: (body: string) => string, id = protocol.model) {
  const sent: Record<string, unknown>[] = []
  const fetch: typeof globalThis.fetch = async (_, init) => {
    const body = String(init?.body)
    sent.push(JSON.parse(body) as Record<string, unknown>)
    return new Response(wire(body), { headers: { 'content-type': 'text/event-stream' } })
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

function answerTo(situation: ModelBehavior | undefined): ProviderResponse {
  if (situation?.kind === 'tool-calls' && situation.calls[0]) return { call: situation.calls[0] }
  if (situation?.kind === 'text') return { text: situation.text, ...(situation.stop && { stop: situation.stop }) }
  throw new Error('this wire is not written down')
}

const isWrittenByHand = (name: string, title: string) => /^M7/.test(title) || (/^M8/.test(title) && name !== 'Gemini')

for (const [name, protocol] of Object.entries(PROTOCOLS)) {
  const wire = RESPONSE_ENCODERS[name] as (answer: ProviderResponse) => string

  async function play(situations: Record<string, ModelBehavior>): Promise<Model> {
    const { model } = await modelWithResponses(protocol, (body) => {
      const says = Object.keys(situations).find((word) => body.includes(`"${word}"`))
      return wire(answerTo(situations[says ?? '']))
    })
    return model
  }
  modelContract(`${name}, as written down,`, () => ({ createModel: play, dispose: () => {} }), {
    describe,
    test: (title, run) => {
      if (isWrittenByHand(name, title)) test(title, run)
    },
  })

  describe(`${name}, as written down`, () => {
    test('MO43 input counts what was cached, output counts the reasoning', async () => {
      const cache_write = name === 'Anthropic' ? 20 : 0
      const usage = { input: 100, cache_read: 70, cache_write, output: 30, reasoning: 12 }
      const { model } = await modelWithResponses(protocol, () => wire({ text: 'So it is.', usage }))
      expect((await streamRequest(model)).finish?.usage).toEqual(usage)
    })
  })
}

const LOOK = { name: 'look', description: 'Looks.', input: { type: 'object', properties: {} } }

/** Asks once, puts the answer together as the kernel does, and asks again with it. */
async function askTwice(name: string, id: string) {
  const protocol = PROTOCOLS[name] as Protocol
  const wire = RESPONSE_ENCODERS[name] as (answer: ProviderResponse) => string
  const thought = { text: 'Let me see.', signature: 'c2lnbmVk' }
  const answer = wire({ thought, call: { name: 'look', arguments: '{"path":"a"}' } })
  const { model, sent } = await modelWithResponses(protocol, () => answer, id)
  const { chunks } = await streamRequest(model, { tools: [LOOK] })
  const content = chunks.filter((chunk) => chunk.type === 'reasoning' || chunk.type === 'tool-call')
  const result = { type: 'tool-result' as const, id: '', name: 'look', text: 'here', is_error: false }
  const call = content.find((part) => part.type === 'tool-call')
  const messages: Message[] = [
    userMessage('go'),
    { role: 'assistant', content: mergeChunks(content) },
    { role: 'tool', content: [{ ...result, id: call?.id ?? '' }] },
  ]
  return { model, sent, messages, go: () => streamRequest(model, { tools: [LOOK], messages }) }
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

describe('what goes back to the provider', () => {
  test('MO44 Claude gets its thinking back with its signature, and marks where to cache', async () => {
    const { sent, go } = await askTwice('Anthropic', 'anthropic/claude-opus-5-5')
    await go()
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

  test('MO45 OpenAI stores nothing and gets its encrypted reasoning back', async () => {
    const { sent, go } = await askTwice('OpenAI responses', 'openai/gpt-5')
    await go()
    const [first, body] = sent as { input: object[]; [key: string]: unknown }[]
    expect(first).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] })
    expect(body?.input).toContainEqual(expect.objectContaining({ type: 'reasoning', encrypted_content: 'c2lnbmVk' }))
    expect(JSON.stringify(body)).not.toContain('item_reference')
  })

  test('MO46 Gemini gets the signature of its call back', async () => {
    const { sent, go } = await askTwice('Gemini', 'google/gemini-2.5-flash')
    await go()
    expect(JSON.stringify(sent[1])).toContain('"thoughtSignature":"c2lnbmVk"')
  })

  test('MO47 what one model signed never reaches another', async () => {
    const { messages } = await askTwice('Anthropic', 'anthropic/claude-opus-5-5')
    const protocol = PROTOCOLS.Gemini as Protocol
    const { model, sent } = await modelWithResponses(protocol, () =>
      (RESPONSE_ENCODERS.Gemini as (answer: ProviderResponse) => string)({ text: 'Yes.' }),
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
])('A23 effort arrives at %s in its own words, within the same limit of the answer', async (name, id, said) => {
  const wire = RESPONSE_ENCODERS[name] as (answer: ProviderResponse) => string
  const { model, sent } = await modelWithResponses(PROTOCOLS[name] as Protocol, () => wire({ text: 'So.' }), id)
  await streamRequest(model, { settings: { effort: 'high', max_output: 500 } })
  expect(sent[0]).toMatchObject(said)
})

test.each([
  ['Anthropic', 'anthropic/claude-haiku-4-5'],
  ['OpenAI responses', 'openai/gpt-4o'],
  ['OpenAI-compatible', 'compatible/some-model'],
])('A23 a model of %s that does not think in degrees is not told of it', async (name, id) => {
  const wire = RESPONSE_ENCODERS[name] as (answer: ProviderResponse) => string
  const { model, sent } = await modelWithResponses(PROTOCOLS[name] as Protocol, () => wire({ text: 'So.' }), id)
  await streamRequest(model, { settings: { max_output: 500 } })
  await streamRequest(model, { settings: { effort: 'high', max_output: 500 } })
  expect(sent[1]).toEqual(sent[0])
})
