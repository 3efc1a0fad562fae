import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import type { Message, ModelRequest } from '../kernel/model.ts'
import { userMessage } from '../kernel/model.ts'
import { modelRequest } from '../testing/model-contract.ts'
import { toCallOptions } from './call-options.ts'
import { ToolNameMap } from './tool-name-map.ts'

const SOMEBODY = { provider: 'somebody', modelId: 'model' }

function asked(changes: Partial<ModelRequest> = {}, as = SOMEBODY): LanguageModelV4CallOptions {
  const request = modelRequest('go', changes)
  const model = { ...as, specificationVersion: 'v4' }
  const to = { model, name: 'here/model', toolNames: new ToolNameMap(request.tools) }
  return toCallOptions(to, request, new AbortController().signal)
}

describe('what is asked', () => {
  test('MO1 the system comes first, then the conversation with its images, calls and results', () => {
    const messages: Message[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'text', text: ' ' },
          { type: 'image', media_type: 'image/png', data: 'data:image/png;base64,AAAA' },
          { type: 'image', media_type: 'image/jpeg', data: 'https://example.com/a.jpg' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: '' },
          { type: 'tool-call', id: 'a', name: 'look', input: { path: 'x' } },
          { type: 'tool-call', id: 'b~2', name: 'look', input: '{"pa', invalid: 'no JSON' },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', id: 'a', name: 'look', text: 'here', is_error: false },
          { type: 'tool-result', id: 'b~2', name: 'look', text: 'bad arguments', is_error: true },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: '' }] },
      userMessage(''),
    ]
    const called = asked({ messages })
    const result = (toolCallId: string, type: string, value: string) => ({
      type: 'tool-result',
      toolCallId,
      toolName: 'look',
      output: { type, value },
    })
    expect(called.prompt).toEqual([
      { role: 'system', content: 'You are under test.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
          { type: 'file', mediaType: 'image/jpeg', data: { type: 'url', url: new URL('https://example.com/a.jpg') } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: { path: 'x' } },
          { type: 'tool-call', toolCallId: 'b_2', toolName: 'look', input: { raw_arguments: '{"pa' } },
        ],
      },
      { role: 'tool', content: [result('a', 'text', 'here'), result('b_2', 'error-text', 'bad arguments')] },
      { role: 'user', content: [{ type: 'text', text: '(empty)' }] },
    ])
  })

  test('MO64 an agent that may call no more keeps the names of its tools, and may not use them', () => {
    const call = { type: 'tool-call' as const, id: 'a', name: 'git.log', input: {} }
    const messages: Message[] = [
      userMessage('go'),
      { role: 'assistant', content: [call, { ...call, id: 'b' }] },
      { role: 'tool', content: [{ type: 'tool-result', id: 'a', name: 'git.log', text: 'x', is_error: false }] },
      userMessage('Say what you have.'),
    ]
    const { tools, toolChoice } = asked({ messages })
    expect(tools?.map(({ name }) => name)).toEqual(['git_log'])
    expect(toolChoice).toEqual({ type: 'none' })
  })

  test('MO3 settings and the schema of the answer go out; strictness is asked only of a schema that allows it', () => {
    const settings = { temperature: 0.2, max_output: 99 }
    const closed = {
      type: 'object',
      properties: { list: { type: 'array', items: { type: 'string' } } },
      required: ['list'],
      additionalProperties: false,
    }
    const called = asked({ settings, output: closed })
    expect(called).toMatchObject({ temperature: 0.2, maxOutputTokens: 99 })
    expect(called.responseFormat).toEqual({ type: 'json', schema: closed })
    expect(called.providerOptions?.openai).toEqual({ strictJsonSchema: true })
    const optional = { ...closed, required: [] }
    const nested = { ...closed, properties: { list: { type: 'object', properties: { a: { type: 'string' } } } } }
    for (const output of [optional, nested]) {
      expect(asked({ output }).providerOptions?.openai).toEqual({ strictJsonSchema: false })
    }
    const plain = asked()
    for (const key of ['temperature', 'maxOutputTokens', 'responseFormat', 'providerOptions']) {
      expect(plain).not.toHaveProperty(key)
    }
  })

  test('MO6 Claude gets at most four marks for its cache, one question without tools only the one of its system', () => {
    const claude = { provider: 'anthropic.messages', modelId: 'claude-x' }
    const marked = (request: LanguageModelV4CallOptions) => JSON.stringify(request).match(/cacheControl/g)?.length ?? 0
    const tools = [{ name: 'a', description: 'a', input: { type: 'object' } }]
    const answer: Message = { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] }
    const long = [userMessage('1'), answer, userMessage('2'), answer, userMessage('3'), answer, userMessage('4')]
    expect(marked(asked({}, claude))).toBe(1)
    expect(marked(asked({ tools }, claude))).toBe(3)
    expect(marked(asked({ tools, messages: long }, claude))).toBe(4)
    expect(marked(asked({ tools, messages: long }))).toBe(0)
    const { prompt } = asked({ tools, messages: long }, claude)
    expect(prompt.map((message) => message.providerOptions !== undefined)).toEqual([
      ...[true, false, false, false, false, true, false, true],
    ])
  })
})

test('A23 effort is said to models that think in degrees, and to no others', () => {
  const said = (modelId: string) => asked({ settings: { effort: 'high' } }, { provider: 'somebody', modelId }).reasoning
  const thinking = ['claude-opus-5-5', 'claude-sonnet-4-6', 'gpt-5-mini', 'openai/gpt-6.1-sol', 'openai/gpt-oss-120b']
  for (const id of [...thinking, 'o3', 'openai/o4-mini', 'gemini-2.5-pro', 'gemini-3.8-flash']) {
    expect.soft(said(id), id).toBe('high')
  }
  const others = [
    'claude-haiku-4-5',
    'claude-sonnet-4-5-20250929',
    'claude-3-5-haiku',
    'gpt-4o',
    'gpt-4.1',
    'gpt-5-chat-latest',
  ]
  for (const id of [...others, 'gemini-2.0-flash', 'llama3.3', 'mistral-large', 'foo1', 'echo1-mini']) {
    expect.soft(said(id), id).toBeUndefined()
  }
  expect(asked({ settings: {} }, { provider: 'somebody', modelId: 'o3' })).not.toHaveProperty('reasoning')
})
